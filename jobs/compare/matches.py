"""The part `matches` of `compare`, which finds each unit's most similar unit in another run and in rotated layers."""

from typing import Any

import pyarrow as pa
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from jobs.compare.job import CompareConfig
from jobs.compare.parts import begin_part
from jobs.engine.item import Item
from jobs.run_folder.run import Run
from jobs.stage.other_run import RunPair
from jobs.stage.outputs import Output, file_of, read_partials, whole_table
from jobs.stage.runner import Stage
from jobs.stage.scored import Scored
from jobs.stage.step import Made, Step, Steps
from ops import sampling
from ops.compare.activation_vectors import common_rows
from ops.compare.figures import matches_figure
from ops.compare.unit_matches import MATCHES, UNIVERSAL, Matcher, matcher_bytes, other_ids, universal_rows
from ops.errors import counted
from ops.figures.files import save_figures
from ops.storage.tables import read_table

SAME_OF_TOPK = ("pool", "special_tokens")
LEAST_SENTENCES = 3  # required for a meaningful correlation
MATCHES_TABLE, UNIVERSAL_TABLE = whole_table(MATCHES), whole_table(UNIVERSAL)


def check_matches(config: CompareConfig, run: Run) -> RunPair:
    """Return the run next to the run whose units it is matched with.

    Raises:
        InputError: the units of the other run cannot be compared with the units of this run.
    """
    pair = RunPair.open("--with", config.with_, run, ("topk",))
    pair.check_same_corpus()
    pair.check_same_options("topk", SAME_OF_TOPK.__contains__)
    if (common := common_sentences(pair)) < LEAST_SENTENCES:
        raise pair.refused(
            f"its activation sample and this run's have {counted(common, 'sentence')} in common, and "
            f"at least {LEAST_SENTENCES} are needed; give both runs a larger --activation-sample"
        )
    return pair


def common_sentences(pair: RunPair) -> int:
    """Return the number of sentences that are in the activation samples of both runs."""
    stores = pair.run.store, pair.other.store
    return len(common_rows(*stores, None if pair.same_ids else other_ids(*stores))[0])


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
    rotated = not other.of_features
    runs = {
        "store": stage.store, "other": pair.other.store, "neurons": scored.neurons, "others": other.neurons,
        "same_ids": pair.same_ids, "seed": (config.seed, sampling.OTHER_BASIS) if rotated else None,
    }  # fmt: skip
    widest = max(*scored.neurons.widths, *other.neurons.widths)
    units, sampled = len(scored.neurons), max(scored.sampled, other.sampled)
    layers = Step(
        name="compare: matches", items=[{"layer": layer} for layer in other.neurons.layers], worker=LayerMatcher,
        args=runs, outputs=file_of(MATCHES, "layer"), unit="layers of the other run",
        memory=matcher_bytes(sampled, widest, max(other.neurons.widths) if rotated else 0),
        amount=units * len(other.neurons) * (1 + rotated) * other.sampled,
    )  # fmt: skip
    tables = Step(
        name="compare: shared winners", items=[{}], outputs=lambda _: [MATCHES_TABLE, UNIVERSAL_TABLE],
        worker=make_tables, args={"files": layers.files, **runs}, unit="tables", amount=units * other.poles * other.k,
    )  # fmt: skip
    yield [layers, tables]
    universal = matches_figure(read_table(stage.store, UNIVERSAL), stage.run.title, pair.title)
    figures = save_figures(stage.store, "compare/figures/matches", {"universal": universal})
    return {"rows": units, "sentences": common_sentences(pair), "rotated": rotated, "figures": figures}


class LayerMatcher(Matcher):
    """Finds the best match of every unit in each layer of the other run."""

    def __call__(self, item: Item) -> pa.Table:
        """Find the best matches in one layer of the other run."""
        with threadpool_limits(1):
            return self.in_layer(item["layer"])


def make_tables(item: Item, files: list[Output], **runs: Any) -> Made:
    """Take the best match of all layers, with the winners that units and their matches share."""
    matcher = Matcher(**runs)
    rows = matcher.rows(read_partials(matcher.store, files))
    return {MATCHES_TABLE: rows, UNIVERSAL_TABLE: universal_rows(rows)}
