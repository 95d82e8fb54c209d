"""The part `groups` of `compare`: which neurons fire together, in each layer and in all, and what sets them apart."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from jobs.engine.item import Item
from jobs.stage.compare_config import CompareConfig
from jobs.stage.layout import Output, table_part
from jobs.stage.run import Run
from jobs.stage.runner import Step
from jobs.steps.compare.compared_run import PartWork, begin_part, neurons_of, redraw, title_of
from ops import sampling
from ops.compare.activation_vectors import layer_activations, sampled_sentences, unit_vectors
from ops.compare.group_figures import draw_groups
from ops.compare.group_traits import trait_rows
from ops.compare.k_means_groups import group, grouping_quality, project, shuffled_sentences
from ops.schema import schema
from ops.storage.store import Store
from ops.storage.tables import read_table, write_part
from ops.topk.neurons import Neurons

# Measured on one core: seconds of a point and number of groups; bytes that are written, about.
POINT_S, NEURON_BYTES, FIGURES_BYTES = 0.002, 100, 1_500_000
SEEDS = 5  # of k-means, whose agreement is measured
FIRST = 10  # of a neuron's patterns of a kind, and values of a property, that count as its traits
MAX_Q = 0.05
NOT_TRAITS = ("tag", "tag_class", "words_per_sentence")  # they count tokens or lengths
OF_A_LAYER = ("compare/groups", "compare/sentence_groups", "compare/group_quality", "compare/group_traits")
OF_ALL = ("compare/joint_groups", "compare/group_quality", "compare/group_traits")


@dataclass(frozen=True)
class GroupArgs:
    """What a worker is made from."""

    store: Store
    fingerprint: str
    neurons: Neurons
    groups: int
    numbers: tuple[int, ...]
    sentences: int
    seed: int


def groups_part(config: CompareConfig, record: Run) -> PartWork | None:
    """Begin the tables of groups, and their figures; None where they were done before."""
    numbers = tuple(sorted(set(config.group_range)))
    identity = {"group_count": config.group_count, "group_sentences": config.group_sentences}
    stage = begin_part("groups", config, record, {**identity, "group_range": list(numbers)})
    if stage is None:
        redraw("groups", "figure_layer", config, record, lambda: draw(config, record, record.store))
        return None
    neurons = neurons_of(record)
    args = GroupArgs(
        stage.store, stage.fingerprint, neurons, config.group_count, numbers, config.group_sentences, config.seed
    )
    step = groups_step(args)

    def do() -> None:
        stage.do(step)
        stage.finish({"rows": len(neurons), "figures": draw(config, record, stage.store)})

    points = 3 * len(neurons) / len(step.items) + args.sentences
    return PartWork(stage, do, [(step, points * len(numbers) * POINT_S)], len(neurons) * NEURON_BYTES + FIGURES_BYTES)


def draw(config: CompareConfig, record: Run, store: Store) -> list[str]:
    """Draw the figures from the tables that a store has, and return their names."""
    layers = len(neurons_of(record).widths)
    tables = {name: read_table(store, name) for name in {*OF_A_LAYER, *OF_ALL}}
    return draw_groups(store, tables, min(config.figure_layer, layers), title_of(record))


def groups_step(args: GroupArgs) -> Step:
    """Return the step that groups the neurons of each layer, and those of all, its last item."""
    items = [{"layer": layer} for layer in range(1, len(args.neurons.widths) + 1)]
    return Step("compare: groups", [*items, {"layer": 0}], group_outputs, GroupWorker, {"args": args}, "layers")


def group_outputs(item: Item) -> list[Output]:
    """Return the parts of a layer, or (layer 0) of all layers together, which come first where tables have both."""
    layer = item["layer"]
    return [
        table_part(table, layer if table in OF_ALL else layer - 1, f"layer-{layer}")
        for table in (OF_A_LAYER if layer else OF_ALL)
    ]


class GroupWorker:
    """Groups the neurons, and the sentences, of one layer after another."""

    def __init__(self, args: GroupArgs) -> None:
        self.args, self.store = args, args.store
        every = sampled_sentences(self.store)
        self.rows = sampling.draw(len(every), args.sentences, args.seed, sampling.GROUPS)
        self.sent_ids = every[self.rows]

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Group one layer, or (layer 0) all of them."""
        layer = item["layer"]
        layers = range(1, len(self.args.neurons.widths) + 1) if not layer else [layer]
        raw = [layer_activations(self.store, number)[self.rows] for number in layers]
        # Of one layer as published; of all each neuron standardised, since layers differ in scale.
        values = raw[0] if layer else np.concatenate([unit_vectors(own).T for own in raw], 1)
        points = np.ascontiguousarray(values.T)
        labels = group(points, min(self.args.groups, len(points)), self.args.seed)
        own = self.grouped(points, labels)
        first = int(sum(self.args.neurons.widths[: layer - 1])) if layer else 0
        number, unit = self.args.neurons.layer_and_unit(np.arange(first, first + len(points)))
        neurons = pa.table({"layer": number, "unit": unit, **own})
        written = {"compare/groups" if layer else "compare/joint_groups": neurons}
        quality = self.quality(layer, "neurons", points, values)
        if layer:
            found = group(values, min(self.args.groups, len(values)), self.args.seed)
            columns = {"layer": np.full(len(values), layer, np.int16), "sent_id": self.sent_ids}
            written["compare/sentence_groups"] = pa.table({**columns, **self.grouped(values, found)})
            quality += self.quality(layer, "sentences", values, values)
        quality.sort(key=lambda row: (row["grouped"], row["groups"]))
        written["compare/group_quality"] = pa.Table.from_pylist(quality, schema("compare/group_quality"))
        written["compare/group_traits"] = self.traits(layer, labels)
        for output in group_outputs(item):
            name, _, part = output.path.rpartition("/part-")
            table = written[name].select(schema(name).names)
            footer = output.footer(self.args.fingerprint, table.num_rows)
            number_of = int(part.removesuffix(".parquet"))
            write_part(self.store, name, number_of, schema(name), [table], self.args.fingerprint, footer)
        return {"layer": layer}

    def grouped(self, points: npt.NDArray[np.floating], labels: npt.NDArray[np.int32]) -> dict[str, Any]:
        """Return the columns `group`, `x`, `y`."""
        places = project(points, self.args.seed)
        return {"group": labels, "x": places[:, 0], "y": places[:, 1]}

    def quality(
        self, layer: int, grouped: str, points: npt.NDArray[np.floating], values: npt.NDArray[np.floating]
    ) -> list[dict[str, Any]]:
        """Return the rows of compare/group_quality of the points, beside those of values shuffled over sentences."""
        rng = np.random.default_rng([self.args.seed, sampling.SHUFFLES, layer])
        shuffled = shuffled_sentences(values, rng)
        null_points = np.ascontiguousarray(shuffled.T) if grouped == "neurons" else shuffled
        seeds = list(range(self.args.seed, self.args.seed + SEEDS))
        rows = []
        for count in self.args.numbers:
            if count >= len(points):
                continue
            found, null = (grouping_quality(p, count, seeds) for p in (points, null_points))
            measured = {"silhouette": found.silhouette, "silhouette_of_shuffled": null.silhouette}
            measured |= {"rand_index": found.rand_index, "rand_index_of_shuffled": null.rand_index}
            rows.append({"layer": layer, "grouped": grouped, "groups": count, "n": len(points), **measured})
        return rows

    def traits(self, layer: int, labels: npt.NDArray[np.int32]) -> pa.Table:
        """Return the rows of compare/group_traits of a layer's groups, or (layer 0) of those of all."""
        where = (pc.field("rank") <= FIRST) & (pc.field("g2") > 0) & (pc.field("q_value") < MAX_Q)
        if layer:
            where &= pc.field("layer") == layer
        found = []
        for table, kind, trait in (("patterns", "kind", "pattern"), ("profiles", "property", "value")):
            rows = read_table(self.store, table, where, ["layer", "unit", "pole", kind, trait])
            found.append(rows.rename_columns(["layer", "unit", "pole", "kind", "trait"]))
        rows = pa.concat_tables(found)
        rows = rows.filter(pc.invert(pc.is_in(rows["kind"], pa.array(NOT_TRAITS))))
        neuron = self.args.neurons.number(rows["layer"].to_numpy(), rows["unit"].to_numpy())
        first = int(sum(self.args.neurons.widths[: layer - 1])) if layer else 0
        table = trait_rows(neuron - first, rows, labels)
        return table.append_column("layer", pa.array([layer] * len(table), pa.int16()))
