"""Tables of groups: of one layer's neurons and sentences, or of the neurons of all layers together."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops import sampling, schema
from ops.arrays import Floats, Int32s, Int64s
from ops.compare.activation_vectors import layer_activations, sampled_sentences, unit_vectors
from ops.compare.group_traits import trait_rows
from ops.compare.k_means_groups import grouping_quality, project, shuffled_sentences
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
        layers = [layer] if layer else range(1, len(self.neurons.widths) + 1)
        raw = [layer_activations(self.store, number)[self.rows] for number in layers]
        # The values of a single layer are used as they are, like in the publication. Over all layers, each neuron is
        # standardised, because the scales of layers differ.
        values = raw[0] if layer else np.concatenate([unit_vectors(own).T for own in raw], 1)
        members = self._first(layer) + np.arange(values.shape[1])
        heard = self.heard[members] if self.heard[members].any() else np.ones(len(members), np.bool_)
        members, points = members[heard], np.ascontiguousarray(values.T[heard])
        labels = k_means(points, min(self.groups, len(points)), self.seed, STARTS)
        own = self._grouped(points, labels)
        number, unit = self.neurons.layer_and_unit(members)
        found = {
            "compare/groups" if layer else "compare/joint_groups": pa.table({"layer": number, "unit": unit, **own})
        }
        quality = self._quality(layer, "neurons", points, values[:, heard])
        if layer:
            of_sentences = k_means(values, min(self.groups, len(values)), self.seed, STARTS)
            columns = {"layer": np.full(len(values), layer, np.int16), "sent_id": self.sent_ids}
            found["compare/sentence_groups"] = pa.table({**columns, **self._grouped(values, of_sentences)})
            quality += self._quality(layer, "sentences", values, values)
        found["compare/group_quality"] = schema.table("compare/group_quality", quality)
        found["compare/group_traits"] = self._traits(layer, members, labels)
        return {name: schema.table(name, table) for name, table in found.items()}

    def _first(self, layer: int) -> int:
        return sum(self.neurons.widths[: layer - 1]) if layer else 0

    def _grouped(self, points: Floats, labels: Int32s) -> dict[str, Any]:
        """Return the columns `group`, `x`, `y`."""
        places = project(points, self.seed)
        return {"group": labels, "x": places[:, 0], "y": places[:, 1]}

    def _quality(self, layer: int, grouped: str, points: Floats, values: Floats) -> list[dict[str, Any]]:
        """Return the rows of compare/group_quality, for the points and for values that are shuffled over sentences."""
        rng = np.random.default_rng([self.seed, sampling.SHUFFLES, layer])
        shuffled = shuffled_sentences(values, rng)
        null_points = np.ascontiguousarray(shuffled.T) if grouped == "neurons" else shuffled
        seeds = list(range(self.seed, self.seed + SEEDS))
        rows = []
        for count in self.numbers:
            if count >= len(points):
                continue
            found, null = (grouping_quality(p, count, seeds) for p in (points, null_points))
            measured = {"silhouette": found.silhouette, "silhouette_of_shuffled": null.silhouette}
            measured |= {"rand_index": found.rand_index, "rand_index_of_shuffled": null.rand_index}
            rows.append({"layer": layer, "grouped": grouped, "groups": count, "n": len(points), **measured})
        return rows

    def _traits(self, layer: int, members: Int64s, labels: Int32s) -> pa.Table:
        """Return the rows of compare/group_traits for a layer's groups or, with layer 0, for those of all layers.

        `members` are the numbers of the neurons that are in groups, ascending, and `labels` are their groups.
        """
        where = (pc.field("rank") <= FIRST) & (pc.field("g2") > 0) & (pc.field("q_value") < MAX_Q)
        if layer:
            where &= pc.field("layer") == layer
        found = []
        for table, kind, trait in (("patterns", "kind", "pattern"), ("profiles", "property", "value")):
            rows = read_table(self.store, table, where, ["layer", "unit", "pole", kind, trait])
            found.append(rows.rename_columns(["layer", "unit", "pole", "kind", "trait"]))
        rows = pa.concat_tables(found)
        rows = rows.filter(pc.invert(pc.is_in(rows["kind"], pa.array(NOT_TRAITS))))
        neuron = self.neurons.number(rows["layer"].to_numpy(), rows["unit"].to_numpy())
        grouped = np.isin(neuron, members)
        table = trait_rows(np.searchsorted(members, neuron[grouped]), rows.filter(pa.array(grouped)), labels)
        return table.append_column("layer", pa.array([layer] * len(table), pa.int16()))
