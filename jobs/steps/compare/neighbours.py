"""The part `neighbours` of `compare`: for every neuron the nearest others, by correlation and by shared winners."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from jobs.engine.item import Item
from jobs.stage.compare_config import CompareConfig
from jobs.stage.layout import Output, table_part
from jobs.stage.run import Run
from jobs.stage.runner import Stage, Step
from jobs.steps.compare.compared_run import PartWork, begin_part, neurons_of, title_of
from ops import sampling
from ops.compare.activation_vectors import layer_activations, sampled_sentences, unit_vectors
from ops.compare.near_neurons import NeighbourFinder, nearest_rows
from ops.compare.neighbour_figures import draw_nearest
from ops.compare.shared_winners import read_winner_lists
from ops.schema import schema
from ops.storage.store import Store
from ops.storage.tables import read_table, write_part
from ops.topk.neurons import Neurons, parts

# Measured on one core: seconds of a product, and of a winner that two neurons share; bytes that are written, about.
PRODUCT_S, SHARED_S, ROW_BYTES, FIGURE_BYTES = 4.2e-11, 2.5e-9, 9, 200_000
DRAWN = 64  # neurons of a layer whose nearest are set beside the nulls


@dataclass(frozen=True)
class NeighbourArgs:
    """What a worker is made from; `sentences` are the scored ones of the corpus."""

    store: Store
    fingerprint: str
    neurons: Neurons
    nearest: int
    sentences: int
    seed: int


def neighbours_part(config: CompareConfig, record: Run) -> PartWork | None:
    """Begin compare/neighbours, compare/nearest and their figure; None where they were done before."""
    stage = begin_part("neighbours", config, record, {"nearest": config.nearest})
    if stage is None:
        return None
    neurons = neurons_of(record)
    scored = record.require("topk")["counts"]["scored"]
    args = NeighbourArgs(stage.store, stage.fingerprint, neurons, config.nearest, scored, config.seed)
    near, null = neighbours_step(args), nearest_step(args)

    def do() -> None:
        stage.do(near)
        stage.do(null)
        publish(stage, near)

    topk = record.require("topk")
    sets = len(neurons) ** 2 / len(near.items)
    winners = topk["counts"]["neurons"] * min(topk["identity"]["k"], scored) * 2
    seconds = sets * topk["counts"]["activation_sample"] * PRODUCT_S
    seconds += winners**2 / max(scored, 1) / 2 / len(near.items) * SHARED_S
    rows = len(neurons) * 3 * config.nearest
    return PartWork(stage, do, [(near, seconds), (null, seconds)], rows * ROW_BYTES + FIGURE_BYTES)


def publish(stage: Stage, near: Step) -> None:
    """Draw the figure, count the rows, and finish the stage."""
    rows = neurons = 0
    for item in near.items:
        with stage.store.parquet(neighbour_outputs(item)[0].path) as file:
            rows += file.metadata.num_rows
        neurons += item["stop"] - item["first"]
    figures = draw_nearest(stage.store, read_table(stage.store, "compare/nearest"), title_of(stage.record))
    stage.finish({"rows": rows, "neurons": neurons, "figures": figures})


def neighbours_step(args: NeighbourArgs) -> Step:
    """Return the step that writes the parts of compare/neighbours, one for each range of neurons."""
    items = [{"part": part, "first": first, "stop": stop} for part, first, stop in parts(len(args.neurons))]
    return Step("compare: neighbours", items, neighbour_outputs, NeighbourWorker, {"args": args}, "ranges of neurons")


def neighbour_outputs(item: Item) -> list[Output]:
    """Return the part of a range of neurons."""
    return [table_part("compare/neighbours", item["part"], f"neurons-{item['first']}-{item['stop']}")]


def nearest_step(args: NeighbourArgs) -> Step:
    """Return the step that sets the nearest of some neurons beside the nulls."""
    outputs = [table_part("compare/nearest", 0, "nearest")]
    return Step("compare: nearest", [{"all": True}], lambda _: outputs, NearestWorker, {"args": args}, "table")


class NeighbourWorker:
    """Finds the neighbours of one range of neurons after another; holds the sample and the winners of all."""

    def __init__(self, args: NeighbourArgs) -> None:
        self.args, self.store = args, args.store
        vectors = read_vectors(args)
        self.finder = NeighbourFinder(args.neurons, vectors, read_winner_lists(self.store, args.neurons), args.nearest)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Write one range's part."""
        with threadpool_limits(1):
            rows = self.finder.rows(item["first"], item["stop"])
        (output,) = neighbour_outputs(item)
        footer = output.footer(self.args.fingerprint, rows.num_rows)
        layout = schema("compare/neighbours")
        write_part(self.store, "compare/neighbours", item["part"], layout, [rows], self.args.fingerprint, footer)
        return {"part": item["part"]}


class NearestWorker(NeighbourWorker):
    """Sets how near the nearest neurons are beside chance and rotated bases."""

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Write compare/nearest."""
        args = self.args
        layers = [layer_activations(self.store, i + 1) for i in range(len(args.neurons.widths))]
        with threadpool_limits(1):
            rows = nearest_rows(self.finder, layers, args.sentences, DRAWN, (args.seed, sampling.NEIGHBOURS))
        output = table_part("compare/nearest", 0, "nearest")
        footer = output.footer(args.fingerprint, rows.num_rows)
        write_part(self.store, "compare/nearest", 0, schema("compare/nearest"), [rows], args.fingerprint, footer)
        return {"rows": rows.num_rows}


def read_vectors(args: NeighbourArgs) -> npt.NDArray[np.float32]:
    """Return the vectors of all neurons over the activation sample, `[neurons, sentences]`, layer by layer."""
    vectors = np.empty((len(args.neurons), len(sampled_sentences(args.store))), np.float32)
    start = 0
    for i, width in enumerate(args.neurons.widths):
        vectors[start : start + width] = unit_vectors(layer_activations(args.store, i + 1))
        start += width
    return vectors
