"""Tables of groups: of one layer's neurons and sentences, or of the neurons of all layers together."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops import sampling, schema
from ops.arrays import Floats, Int32s, Int64s
from ops.compare.activation_vectors import layer_activations, sampled_sentences, unit_vectors
from ops.compare.group_traits import trait_rows
from ops.compare.k_means_groups import grouping_quality, project
from ops.statistics.k_means import k_means
from ops.storage.store import Store
from ops.storage.tables import read_table
from ops.topk.neurons import Neurons
from ops.topk.silent import read_silent

STARTS = 3  # number of starts of k-means; the best result is used
SEEDS = 5  # number of seeds of k-means whose agreement is measured
FIRST = 10  # patterns of each kind, and values of each property, that count as a neuron's traits
MAX_Q = 0.05
NOT_TRAITS = ("tag", "tag_class", "words_per_sentence")  # they count tokens or lengths
OF_A_LAYER = ("compare/groups", "compare/sentence_groups", "compare/group_quality", "compare/group_traits")
OF_ALL = ("compare/joint_groups", "compare/group_quality", "compare/group_traits")


class NeuronGroups:
    """Groups the neurons and the sentences of one layer at a time. Silent neurons are in no group.

    Args:
        store: the run's folder, with `activations/`, `patterns/` and `profiles/`.
        neurons: all neurons.
        groups: number of groups.
        numbers: the numbers of groups for which quality is measured, ascending.
        sentences: maximum number of sentences of the activation sample to use. If there are more, a seeded uniform
            sample of them is used.
        seed: the seed of every draw.
    """

    def __init__(
        self, store: Store, neurons: Neurons, groups: int, numbers: tuple[int, ...], sentences: int, seed: int
    ) -> None:
        self.store, self.neurons, self.groups, self.numbers, self.seed = store, neurons, groups, numbers, seed
        every = sampled_sentences(store)
        self.rows = sampling.draw(len(every), sentences, seed, sampling.GROUPS)
        self.sent_ids = every[self.rows]
        self.heard = ~read_silent(store, neurons)

    def tables(self, layer: int) -> dict[str, pa.Table]:
        """Return the rows of the tables `OF_A_LAYER` for a layer, or of `OF_ALL` for layer 0, meaning all layers."""
        layers = [layer] if layer else self.neurons.layers
        raw = [layer_activations(self.store, number)[self.rows] for number in layers]
        # The values of a single layer are used as they are, like in the publication. Over all layers, each neuron is
        # standardised, because the scales of layers differ.
        values = raw[0] if layer else np.concatenate([unit_vectors(activations).T for activations in raw], 1)
        members = np.arange(*self.neurons.span(layer)) if layer else np.arange(len(self.neurons))
        heard = self.heard[members] if self.heard[members].any() else np.ones(len(members), np.bool_)
        members, points = members[heard], np.ascontiguousarray(values.T[heard])
        groups = self._grouped(points)
        number, unit = self.neurons.layer_and_unit(members)
        tables: dict[str, Any] = {
            "compare/groups" if layer else "compare/joint_groups": {"layer": number, "unit": unit, **groups}
        }
        quality = self._quality(layer, "neurons", points, values[:, heard])
        if layer:
            columns = {"layer": np.full(len(values), layer, np.int16), "sent_id": self.sent_ids}
            tables["compare/sentence_groups"] = {**columns, **self._grouped(values)}
            quality += self._quality(layer, "sentences", values, values)
        tables["compare/group_quality"] = quality
        tables["compare/group_traits"] = self._traits(layer, members, groups["group"])
        return {name: schema.table(name, rows) for name, rows in tables.items()}

    def _grouped(self, points: Floats) -> dict[str, Any]:
        """Return the columns `group`, `x`, `y` of points."""
        labels = k_means(points, min(self.groups, len(points)), self.seed, STARTS)
        x, y = project(points, self.seed).T
        return {"group": labels, "x": x, "y": y}

    def _quality(self, layer: int, grouped: str, points: Floats, values: Floats) -> list[dict[str, Any]]:
        """Return the rows of compare/group_quality, for the points and for values that are shuffled over sentences.

        After shuffling, each neuron keeps its own distribution, but neurons no longer fire together. If groups are as
        distinct then, they are groups by mean and spread only.
        """
        shuffled = np.random.default_rng([self.seed, sampling.SHUFFLES, layer]).permuted(values, axis=0)
        null_points = np.ascontiguousarray(shuffled.T) if grouped == "neurons" else shuffled
        seeds = list(range(self.seed, self.seed + SEEDS))
        rows = []
        for count in self.numbers:
            if count < len(points):
                quality, null = (grouping_quality(p, count, seeds) for p in (points, null_points))
                row = {"layer": layer, "grouped": grouped, "groups": count, "n": len(points), **vars(quality)}
                rows.append(row | {f"{name}_of_shuffled": value for name, value in vars(null).items()})
        return rows

    def _traits(self, layer: int, members: Int64s, labels: Int32s) -> pa.Table:
        """Return the rows of compare/group_traits for a layer's groups or, with layer 0, for those of all layers.

        `members` are the numbers of the neurons that are in groups, ascending, and `labels` are their groups.
        """
        where = (pc.field("rank") <= FIRST) & (pc.field("g2") > 0) & (pc.field("q_value") < MAX_Q)
        if layer:
            where &= pc.field("layer") == layer
        names = ["layer", "unit", "pole", "kind", "trait"]
        rows = pa.concat_tables(
            read_table(self.store, table, where, [*names[:3], kind, trait]).rename_columns(names)
            for table, kind, trait in (("patterns", "kind", "pattern"), ("profiles", "property", "value"))
        )
        rows = rows.filter(pc.invert(pc.is_in(rows["kind"], pa.array(NOT_TRAITS))))
        neuron = self.neurons.number(rows["layer"].to_numpy(), rows["unit"].to_numpy())
        grouped = np.isin(neuron, members)
        table = trait_rows(np.searchsorted(members, neuron[grouped]), rows.filter(pa.array(grouped)), labels)
        return table.append_column("layer", pa.array([layer] * len(table), pa.int16()))
