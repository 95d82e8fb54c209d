"""The part `neighbours` of `compare`, which finds the nearest neurons by correlation and by shared winners."""

from dataclasses import dataclass
from typing import Any

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from jobs.compare.compared_run import PartArgs, part_args, part_plan, run_part, title_of
from jobs.compare.job import CompareConfig
from jobs.engine.item import Item
from jobs.stage.dictionaries import is_of_dictionaries
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.outputs import TablePart, table_part
from jobs.stage.run import Run
from jobs.stage.runner import Stage, Step
from jobs.stage.units import chosen_units
from ops import sampling
from ops.compare.activation_vectors import layer_activations, neuron_vectors
from ops.compare.near_neurons import NeighbourFinder, finder_bytes, nearest_rows
from ops.compare.neighbour_figures import draw_nearest
from ops.compare.shared_winners import read_winner_lists
from ops.storage.tables import read_table
from ops.topk.neurons import NEURONS_PER_PART, parts
from ops.topk.silent import read_silent

# Measured on one core: the seconds per product and per winner that two neurons share; the approximate bytes written.
PRODUCT_S, SHARED_S, ROW_BYTES, FIGURE_BYTES = 4.2e-11, 2.5e-9, 9, 200_000
DRAWN = 64  # neurons per layer whose nearest neurons are compared with the controls
NEAREST = table_part("compare/nearest", 0, "nearest")


@dataclass(frozen=True)
class NeighbourArgs(PartArgs):
    """The arguments of a worker.

    `nearest` is the number of neighbours kept of each kind, and `sentences` is the number of scored sentences. `units`
    are the neurons whose neighbours are found (empty for all), and `memory` is in bytes. `rotated` tells whether
    rotated layers are used as a control.
    """

    nearest: int
    sentences: int
    units: tuple[str, ...] = ()
    memory: int = 0
    rotated: bool = True


def neighbours_part(config: CompareConfig, record: Run) -> None:
    """Write compare/neighbours, compare/nearest and their figure, or the missing part of them."""
    units = chosen_units(config, record, "compared")
    config = config.model_copy(update={"units": units})
    depends_on = {"nearest": config.nearest, **({"units": list(units)} if units else {})}
    run_part("neighbours", config, record, depends_on, neighbour_args, find, plan)


def find(config: CompareConfig, stage: Stage, args: NeighbourArgs) -> dict[str, Any]:
    """Find the neighbours, draw the figure, and return the counts."""
    near = neighbours_step(args)
    stage.do(near)
    stage.do(nearest_step(args))
    rows = 0
    for item in near.items:
        with stage.store.parquet(neighbours_part_of(item).path) as file:
            rows += file.metadata.num_rows
    figures = draw_nearest(stage.store, read_table(stage.store, "compare/nearest"), title_of(stage.record))
    return {"rows": rows, "neurons": len(args.units) or len(args.neurons), "figures": figures}


def plan(config: CompareConfig, stage: Stage, args: NeighbourArgs, record: DryRun) -> Plan:
    """Return what the part would do."""
    topk, near, neurons = record.require("topk"), neighbours_step(args), len(args.neurons)
    chosen = len(args.units) or neurons
    winners = topk["counts"]["neurons"] * min(topk["identity"]["k"], args.sentences) * 2
    seconds = chosen * neurons / len(near.items) * topk["counts"]["activation_sample"] * PRODUCT_S
    seconds += winners**2 * chosen / neurons / max(args.sentences, 1) / 2 / len(near.items) * SHARED_S
    kept = chosen * 3 * config.nearest * ROW_BYTES + FIGURE_BYTES
    return part_plan(stage, record, [(near, seconds), (nearest_step(args), seconds)], kept)


def neighbour_args(config: CompareConfig, stage: Stage) -> NeighbourArgs:
    """Return the arguments of the workers."""
    topk, own = stage.record.require("topk"), part_args(config, stage)
    scored, poles = topk["counts"]["scored"], 2 if topk["identity"]["poles"] == "both" else 1
    winners, sampled = min(topk["identity"]["k"], scored), topk["counts"]["activation_sample"]
    block = min(len(config.units) or NEURONS_PER_PART, NEURONS_PER_PART)
    memory = finder_bytes(len(own.neurons), sampled, winners, poles, scored, block)
    return NeighbourArgs(
        **vars(own),
        nearest=config.nearest,
        sentences=scored,
        units=config.units,
        memory=memory,
        rotated=not is_of_dictionaries(topk),
    )


def neighbours_step(args: NeighbourArgs) -> Step:
    """Return the step that writes compare/neighbours, one part for each range of neurons."""
    chosen = len(args.units) or len(args.neurons)
    items = [{"part": part, "first": first, "stop": stop} for part, first, stop in parts(chosen)]
    given = {"args": args}
    return Step(
        "compare: neighbours", items, lambda item: [neighbours_part_of(item)], NeighbourWorker, given,
        "ranges of neurons", memory=args.memory,
    )  # fmt: skip


def neighbours_part_of(item: Item) -> TablePart:
    """Return the part of compare/neighbours for a range of neurons."""
    return table_part("compare/neighbours", item["part"], f"neurons-{item['first']}-{item['stop']}")


def nearest_step(args: NeighbourArgs) -> Step:
    """Return the step that compares the nearest neurons of some neurons with the controls."""
    return Step(
        "compare: nearest", [{"all": True}], lambda _: [NEAREST], NearestWorker, {"args": args}, "table",
        memory=args.memory,
    )  # fmt: skip


class NeighbourWorker:
    """Finds the neighbours of ranges of neurons; memory holds the activation sample and the winners of all neurons."""

    def __init__(self, args: NeighbourArgs) -> None:
        self.args, self.store = args, args.store
        vectors = neuron_vectors(self.store, args.neurons)
        winners, silent = read_winner_lists(self.store, args.neurons), read_silent(self.store, args.neurons)
        self.chosen = args.neurons.named(args.units)
        self.finder = NeighbourFinder(args.neurons, vectors, winners, args.nearest, silent)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Find the neighbours of one range of neurons and write its part of compare/neighbours."""
        with threadpool_limits(1):
            rows = self.finder.rows(self.chosen[item["first"] : item["stop"]])
        neighbours_part_of(item).write(self.store, [rows], self.args.fingerprint)
        return {"part": item["part"]}


class NearestWorker(NeighbourWorker):
    """Compares the similarity of nearest neurons with chance and with rotated bases."""

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Compare the nearest neurons with the controls and write compare/nearest."""
        args = self.args
        layers = [layer_activations(self.store, layer) for layer in args.neurons.layers]
        with threadpool_limits(1):
            rows = nearest_rows(
                self.finder, layers, args.sentences, DRAWN, (args.seed, sampling.NEIGHBOURS), args.rotated
            )
        NEAREST.write(self.store, [rows], args.fingerprint)
        return {"rows": rows.num_rows}
