"""The part `matches` of `compare`, which finds each unit's most similar unit in another run and in rotated layers."""

from dataclasses import dataclass
from functools import cached_property, partial

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from jobs.compare.job import CompareConfig
from jobs.compare.other_run import RunPair
from jobs.compare.parts import begin_part, title_of
from jobs.engine.item import Item
from jobs.run_folder.run import Run
from jobs.stage.outputs import partial_file, read_partials, whole_table
from jobs.stage.runner import Stage
from jobs.stage.scored import Scored, StageArgs
from jobs.stage.step import Made, Step, Steps
from ops import sampling
from ops.arrays import Int64s
from ops.compare.match_figures import draw_matches
from ops.compare.unit_matches import (
    LEAST_SENTENCES,
    MATCHES,
    UNIVERSAL,
    Matcher,
    Overlaps,
    common_rows,
    match_rows,
    matcher_bytes,
    other_ids,
    universal_rows,
)
from ops.errors import counted
from ops.storage.store import Store
from ops.storage.tables import read_table
from ops.topk.neurons import Neurons

SAME_OF_TOPK = ("pool", "special_tokens")
MATCHES_TABLE, UNIVERSAL_TABLE = whole_table(MATCHES), whole_table(UNIVERSAL)
layer_file = partial(partial_file, MATCHES, "layer")  # the best matches in a layer of the other run


@dataclass(frozen=True, kw_only=True)
class MatchArgs(StageArgs):
    """The arguments of the workers.

    Attributes:
        other, others: the folder and the units of the other run.
        same_ids: whether both runs number sentences in the same way.
        rotated: whether rotated layers are used as a control.
    """

    other: Store
    others: Neurons
    same_ids: bool
    rotated: bool

    @cached_property
    def ids(self) -> Int64s | None:
        """The ids in this run of the other run's sentences; None if they are the same."""
        return None if self.same_ids else other_ids(self.store, self.other)


def check_matches(config: CompareConfig, run: Run) -> RunPair:
    """Return the run next to the run whose units it is matched with.

    Raises:
        InputError: the units of the other run cannot be compared with the units of this run.
    """
    pair = RunPair.open("--with", config.with_, run, ("topk",))
    pair.check_same_corpus()
    pair.check_same_options("topk", SAME_OF_TOPK.__contains__)
    stores = run.store, pair.other.store
    common = len(common_rows(*stores, None if pair.same_ids else other_ids(*stores))[0])
    if common < LEAST_SENTENCES:
        raise pair.refused(
            f"its activation sample and this run's have {counted(common, 'sentence')} in common, and "
            f"at least {LEAST_SENTENCES} are needed; give both runs a larger --activation-sample"
        )
    return pair


def matches(config: CompareConfig, run: Run, pair: RunPair) -> None:
    """Write compare/matches, compare/universal and their figure, or the missing part of them."""
    depends_on = {"other topk": pair.other.require("topk")["fingerprint"]}
    about = {"with": {"out": pair.other.store.uri, "title": pair.title}}
    stage = begin_part("matches", config, run, depends_on, about)
    if stage is not None:
        stage.complete(match_steps(config, stage, pair), {MATCHES: len(Scored.of(run).neurons)})


def match_steps(config: CompareConfig, stage: Stage, pair: RunPair) -> Steps:
    """Find the matches layer by layer, write the tables and the figure, and return the counts."""
    scored, other = (Scored.of(run) for run in pair.runs)
    args = MatchArgs(
        store=stage.store, neurons=scored.neurons, seed=config.seed, other=pair.other.store, others=other.neurons,
        same_ids=pair.same_ids, rotated=not other.of_features,
    )  # fmt: skip
    widest = max(*scored.neurons.widths, *other.neurons.widths)
    sampled = max(scored.sampled, other.sampled)
    units, bases = len(scored.neurons), 2 if args.rotated else 1
    yield [
        Step(
            name="compare: matches", items=[{"layer": layer} for layer in other.neurons.layers],
            outputs=lambda item: [layer_file(item["layer"])], worker=LayerMatcher, args={"args": args},
            unit="layers of the other run",
            memory=matcher_bytes(sampled, widest, max(other.neurons.widths) if args.rotated else 0),
            amount=units * len(other.neurons) * bases * other.sampled,
        ),
        Step(
            name="compare: shared winners", items=[{}], outputs=lambda _: [MATCHES_TABLE, UNIVERSAL_TABLE],
            worker=make_tables, args={"args": args}, unit="tables", amount=units * other.poles * other.k,
        ),
    ]  # fmt: skip
    universal = read_table(stage.store, UNIVERSAL)
    figures = draw_matches(stage.store, universal, title_of(stage.run), pair.title)
    common = len(common_rows(args.store, args.other, args.ids)[0])
    return {"rows": units, "sentences": common, "rotated": args.rotated, "figures": figures}


class LayerMatcher:
    """Finds the best match of every unit in each layer of the other run."""

    def __init__(self, args: MatchArgs) -> None:
        seed = (args.seed, sampling.OTHER_BASIS) if args.rotated else None
        self.matcher = Matcher(args.store, args.other, args.neurons, args.others, args.ids, seed)

    def __call__(self, item: Item) -> Made:
        """Find the best matches in one layer of the other run."""
        with threadpool_limits(1):
            return {layer_file(item["layer"]): self.matcher.in_layer(item["layer"])}


def make_tables(item: Item, args: MatchArgs) -> Made:
    """Take the best match of all layers, with the winners that units and their matches share."""
    layers = args.others.layers
    overlaps = Overlaps(args.store, args.other, args.neurons, args.others, args.ids)
    rows = match_rows(args.neurons, layers, read_partials(args.store, map(layer_file, layers)), overlaps)
    return {MATCHES_TABLE: rows, UNIVERSAL_TABLE: universal_rows(rows)}
