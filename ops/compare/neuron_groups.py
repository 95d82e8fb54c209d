"""Groups of one layer's neurons and sentences, or of the neurons of all layers, by k-means (Oba 2021, Figure 4)."""

import warnings
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.manifold import TSNE
from sklearn.metrics import adjusted_rand_score, silhouette_score
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ops import sampling, schema
from ops.arrays import Float32s, Floats, Int32s, Int64s
from ops.compare.activation_vectors import layer_activations, sampled_sentences, unit_vectors
from ops.sampling import random_state
from ops.statistics.association import measures, place_in_group
from ops.statistics.false_discovery import p_values, q_values
from ops.statistics.k_means import k_means
from ops.storage.store import Store
from ops.storage.tables import read_table
from ops.topk.neurons import Neurons
from ops.topk.silent import read_silent

STARTS = 3  # number of starts of k-means; the best result is used
SEEDS = 5  # number of seeds of k-means whose agreement is measured
FIRST = 10  # patterns of each kind, and values of each property, that count as a neuron's traits
MAX_Q = 0.05
MOST_TRAITS = 20  # maximum number of traits of a group
MAX_SILHOUETTE = 2_000  # maximum number of points of a silhouette; with more, a seeded sample is used
PERPLEXITY = 30.0
NOT_TRAITS = ("tag", "tag_class", "words_per_sentence")  # properties that count tokens or lengths
OF_A_LAYER = ("compare/groups", "compare/sentence_groups", "compare/group_quality", "compare/group_traits")
OF_ALL = ("compare/joint_groups", "compare/group_quality", "compare/group_traits")


class NeuronGroups:
    """Groups the neurons and the sentences of one layer at a time. Silent neurons are in no group.

    Args:
        store: the run's folder, with `activations/`, `patterns/` and `profiles/`.
        groups, numbers: number of groups, and the numbers for which quality is measured, ascending.
        sentences: maximum number of sentences of the activation sample to use. If there are more, a seeded uniform
            sample of them is used.
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
                row: dict[str, Any] = {"layer": layer, "grouped": grouped, "groups": count, "n": len(points)}
                for end, own in (("", points), ("_of_shuffled", null_points)):
                    row[f"silhouette{end}"], row[f"rand_index{end}"] = grouping_quality(own, count, seeds)
                rows.append(row)
        return rows

    def _traits(self, layer: int, members: Int64s, labels: Int32s) -> pa.Table:
        """Return the rows of compare/group_traits for a layer's groups or, with layer 0, for those of all layers.

        `members` are the numbers of the neurons that are in groups, ascending, and `labels` are their groups.
        """
        where = (pc.field("rank") <= FIRST) & (pc.field("g2") > 0) & (pc.field("q_value") < MAX_Q)
        if layer:
            where &= pc.field("layer") == layer
        names = ["layer", "unit", "pole", "kind", "trait"]
        of_traits = where & ~pc.field("property").isin(NOT_TRAITS)
        rows = pa.concat_tables(
            read_table(self.store, table, chosen, [*names[:3], kind, trait]).rename_columns(names)
            for table, chosen, kind, trait in (
                ("patterns", where, "kind", "pattern"), ("profiles", of_traits, "property", "value")
            )
        )  # fmt: skip
        neuron = self.neurons.number(rows["layer"].to_numpy(), rows["unit"].to_numpy())
        grouped = np.isin(neuron, members)
        return trait_rows(layer, np.searchsorted(members, neuron[grouped]), rows.filter(pa.array(grouped)), labels)


def grouping_quality(points: Floats, groups: int, seeds: list[int]) -> tuple[float | None, float]:
    """Return how distinct the groups of the first seed are, and how far the groups of all seeds agree.

    These are the silhouette, which is None if all points, or all sampled points, are in one group, and the mean
    adjusted Rand index of pairs of seeds, for each of which k-means is run with one start.
    """
    labellings = [k_means(points, groups, seed) for seed in seeds]
    silhouette = None
    if 2 <= len(np.unique(labellings[0])) < len(points):
        order = np.random.RandomState(random_state(seeds[0])).permutation(len(points))[:MAX_SILHOUETTE]
        drawn = labellings[0][order]
        # A sample may not contain a small group.
        if 2 <= len(np.unique(drawn)) < len(order):
            with threadpool_limits(1):
                silhouette = float(silhouette_score(points[order], drawn))
    pairs = [adjusted_rand_score(a, b) for a, b in combinations(labellings, 2)]
    return silhouette, float(np.mean(pairs)) if pairs else 1.0


def project(points: Floats, seed: int) -> Float32s:
    """Return a map of the points in two dimensions, `[points, 2]` float32, by t-SNE (van der Maaten and Hinton 2008).

    Perplexity is 30, or a third of the points if there are few. Three points or fewer are placed on a line, as are
    points that are all equal or have one dimension.
    """
    count = len(points)
    if points.shape[1] == 1:
        return np.stack([points[:, 0], np.zeros(count)], 1).astype(np.float32)
    if count <= 3 or (points == points[:1]).all():
        return np.stack([np.arange(count), np.zeros(count)], 1).astype(np.float32)
    method = TSNE(2, perplexity=min(PERPLEXITY, (count - 1) / 3), init="pca", random_state=random_state(seed))
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(method.fit_transform(np.asarray(points, np.float32)), np.float32)


def trait_rows(layer: int, neuron: Int64s, traits: pa.Table, groups: Int32s) -> pa.Table:
    """Return the rows of `compare/group_traits` for one layer, or for all layers if it is 0.

    Args:
        neuron: the neuron that prefers the trait of each row of `traits`, as its index in `groups`.
        traits: the columns `pole`, `kind` and `trait` (strings), with a row for each entry of `neuron`. The same neuron
            and trait must not occur twice.
        groups: each neuron's group, `[neurons]`.

    Returns:
        For each group, at most 20 traits that are more frequent in the group than outside, ranked by g2.
    """
    columns = ["pole", "kind", "trait"]
    table = traits.select(columns).append_column("group", pa.array(groups[neuron]))
    counted = table.group_by([*columns, "group"]).aggregate([([], "count_all")])
    everywhere = table.group_by(columns).aggregate([([], "count_all")]).rename_columns([*columns, "total"])
    joined = counted.join(everywhere, columns).sort_by([(c, "ascending") for c in ("group", *columns)])
    group = joined["group"].to_numpy()
    count, total = joined["count_all"].to_numpy(), joined["total"].to_numpy()
    size = np.bincount(groups, minlength=int(groups.max(initial=-1)) + 1)[group]
    measured = measures(count, size, total - count, len(groups) - size)
    q = q_values(p_values(measured.g2))
    order = np.lexsort((np.arange(len(group)), -measured.g2, group))
    order = order[measured.g2[order] > 0]
    rank = place_in_group(group[order])
    order, rank = order[rank < MOST_TRAITS], rank[rank < MOST_TRAITS]
    first = joined.take(pa.array(order))
    rows = {
        "layer": np.full(len(order), layer), "group": group[order], "rank": rank + 1, "count": count[order],
        "n": size[order], "share": measured.share[order], "g2": measured.g2[order], "q_value": q[order],
        "other_share": np.nan_to_num(measured.baseline_share[order]), **{name: first[name] for name in columns},
    }  # fmt: skip
    return schema.table("compare/group_traits", rows)
