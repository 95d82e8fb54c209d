"""The part `matches` of `compare`, which finds each unit's most similar unit in another run and in rotated layers."""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from jobs.compare.compared_run import PartArgs, part_args, part_plan, run_part, title_of
from jobs.compare.job import CompareConfig
from jobs.compare.other_run import check_same_options, open_other, title_of_other
from jobs.engine.item import Item
from jobs.stage.dictionaries import is_of_dictionaries
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.outputs import Output, partial_file, read_partials, table_part, write_partial
from jobs.stage.run import Run, RunReader
from jobs.stage.runner import Stage, Step
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
from ops.errors import InputError, counted
from ops.storage.store import Store
from ops.storage.tables import read_table
from ops.topk.neurons import Neurons, read_neurons

FLAG = "--with"
_SAME_OF_TOPK = ("pool", "special_tokens")
# Measured on one core: the seconds per pair of units and sentence, and per winner of a unit; the bytes written.
PAIR_S, WINNER_S, ROW_BYTES, FIGURE_BYTES = 9.5e-11, 1e-7, 25, 200_000
TABLES = [table_part(MATCHES, 0, "matches"), table_part(UNIVERSAL, 0, "universal")]


def check_matches(config: CompareConfig, record: Run) -> RunReader:
    """Return the other run.

    Raises:
        InputError: the units of that run cannot be compared with the units of this run.
    """
    named = config.with_
    other = open_other(FLAG, named, record, ("topk",))
    identities = [run.require("topk")["identity"] for run in (record, other)]
    check_same_options(FLAG, named, "topk", *({name: i[name] for name in _SAME_OF_TOPK} for i in identities))
    common = len(common_rows(record.store, other.store, ids_of(record, other))[0])
    if common < LEAST_SENTENCES:
        raise InputError(
            f"{FLAG} {named}: its activation sample and this run's have {counted(common, 'sentence')} in common, and "
            f"at least {LEAST_SENTENCES} are needed; give both runs a larger --activation-sample"
        )
    return other


def ids_of(record: RunReader, other: RunReader) -> Int64s | None:
    """Return the ids in this run of the other run's sentences; None if both runs number sentences in the same way."""
    if record.require("ingest")["fingerprint"] == other.require("ingest")["fingerprint"]:
        return None
    return other_ids(record.store, other.store)


@dataclass(frozen=True)
class MatchArgs(PartArgs):
    """The arguments of the workers.

    `other` and `others` are the folder and the units of the other run. `same_ids` tells whether both runs number
    sentences in the same way, and `rotated` whether rotated layers are used as a control. `memory` is in bytes.
    """

    other: Store
    others: Neurons
    same_ids: bool
    rotated: bool
    memory: int

    @cached_property
    def ids(self) -> Int64s | None:
        """The ids in this run of the other run's sentences; None if they are the same."""
        return None if self.same_ids else other_ids(self.store, self.other)

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers of the other run."""
        return self.others.layers


def matches_part(config: CompareConfig, record: Run, other: RunReader) -> None:
    """Write compare/matches, compare/universal and their figure, or the missing part of them."""
    same_ids = record.require("ingest")["fingerprint"] == other.require("ingest")["fingerprint"]
    topk = other.require("topk")

    def args(config: CompareConfig, stage: Stage) -> MatchArgs:
        own, others = part_args(config, stage), read_neurons(other.store)
        sampled = max(run.require("topk")["counts"]["activation_sample"] for run in (record, other))
        rotated = not is_of_dictionaries(topk)
        widest = max(*own.neurons.widths, *others.widths)
        memory = matcher_bytes(sampled, widest, max(others.widths) if rotated else 0)
        return MatchArgs(
            **vars(own), other=other.store, others=others, same_ids=same_ids, rotated=rotated, memory=memory
        )

    about = {"with": {"out": other.store.uri, "title": title_of_other(other)}}
    do, say = partial(find, other), partial(plan, other)
    run_part("matches", config, record, {"other topk": topk["fingerprint"]}, args, do, say, about)


def find(other: RunReader, config: CompareConfig, stage: Stage, args: MatchArgs) -> dict[str, Any]:
    """Find the matches layer by layer, write the tables and the figure, and return the counts."""
    stage.do(layers_step(args))
    stage.do(tables_step(args))
    universal = read_table(stage.store, UNIVERSAL)
    figures = draw_matches(stage.store, universal, title_of(stage.record), title_of_other(other))
    common = len(common_rows(args.store, args.other, args.ids)[0])
    return {"rows": len(args.neurons), "sentences": common, "rotated": args.rotated, "figures": figures}


def plan(other: RunReader, config: CompareConfig, stage: Stage, args: MatchArgs, record: DryRun) -> Plan:
    """Return what the part would do."""
    topk, units = other.require("topk"), len(args.neurons)
    pairs = units * len(args.others) * (2 if args.rotated else 1) / len(args.layers)
    winners = units * 2 * min(topk["identity"]["k"], topk["counts"]["scored"])
    steps = [
        (layers_step(args), pairs * topk["counts"]["activation_sample"] * PAIR_S),
        (tables_step(args), winners * WINNER_S),
    ]
    return part_plan(stage, record, steps, units * ROW_BYTES + FIGURE_BYTES)


def layer_file(layer: int) -> Output:
    """Return the partial file of a layer of the other run."""
    return partial_file(MATCHES, "layer", layer)


def layers_step(args: MatchArgs) -> Step:
    """Return the step that finds each unit's best match in every layer of the other run."""
    items = [{"layer": layer} for layer in args.layers]
    return Step(
        "compare: matches", items, lambda item: [layer_file(item["layer"])], LayerMatcher, {"args": args},
        "layers of the other run", memory=args.memory,
    )  # fmt: skip


def tables_step(args: MatchArgs) -> Step:
    """Return the step that takes the best match of all layers, with the winners that units and their matches share."""
    return Step("compare: shared winners", [{"all": True}], lambda _: TABLES, MatchWriter, {"args": args}, "table")


class LayerMatcher:
    """Finds the best match of every unit in each layer of the other run."""

    def __init__(self, args: MatchArgs) -> None:
        seed = (args.seed, sampling.OTHER_BASIS) if args.rotated else None
        self.args = args
        self.matcher = Matcher(args.store, args.other, args.neurons, args.others, args.ids, seed)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Find the best matches in one layer of the other run and commit them."""
        with threadpool_limits(1):
            found = self.matcher.in_layer(item["layer"])
        write_partial(self.args.store, layer_file(item["layer"]), found, self.args.fingerprint)
        return {"layer": item["layer"]}


class MatchWriter:
    """Writes the tables from the matches in all layers."""

    def __init__(self, args: MatchArgs) -> None:
        self.args = args

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Write compare/matches and compare/universal."""
        args = self.args
        found = read_partials(args.store, [layer_file(layer) for layer in args.layers])
        overlaps = Overlaps(args.store, args.other, args.neurons, args.others, args.ids)
        matches = match_rows(args.neurons, args.layers, found, overlaps)
        for part, rows in zip(TABLES, (matches, universal_rows(matches)), strict=True):
            part.write(args.store, [rows], args.fingerprint)
        return {"rows": matches.num_rows}
