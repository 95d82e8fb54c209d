"""The published positions tables, from the merged totals."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from ops import schema
from ops.arrays import Float32s
from ops.mixing.token_classes import CLASSES
from ops.model.load import ModelFacts
from ops.positions.reader import INPUT_VALUES
from ops.positions.similarity import EDGES, GAUSSIAN_PAIR, RANDOM_PAIR, SAME_TOKEN, gaussian_cosines, mean_of_pairs
from ops.positions.sums import CLASS, INPUT, LOSS, PAIR, POSITION, TEXT, UNITS, WITHIN, Sums, Totals
from ops.positions.variants import DEFAULT, VARIANTS
from ops.reducers.grouped_moments import GroupedMoments

Rows = list[dict[str, Any]]
_MOST_LOSS = 88.0  # float32 can represent its exponential


def corpus_tables(totals: Totals, facts: ModelFacts, norms: Float32s, seed: int) -> dict[str, pa.Table]:
    """Return all tables from the merged totals, by name; the perplexity tables have no rows for an encoder."""
    return {
        "positions/similarity": similarity_rows(totals, facts, seed),
        "positions/by_class": grouped_rows("positions/by_class", totals, facts),
        "positions/by_position": grouped_rows("positions/by_position", totals, facts),
        "positions/perplexity": perplexity_rows(totals, facts),
        "positions/perplexity_by_position": perplexity_position_rows(totals, facts),
        "positions/norms": norm_rows(totals, facts, norms),
    }


def similarity_rows(totals: Totals, facts: ModelFacts, seed: int) -> pa.Table:
    """Return `positions/similarity`: a row for each layer, variant and reference that it is compared with.

    For random pairs, the mean is over all pairs of tokens of different texts, but the spread and the histogram are over
    the drawn pairs. The Gaussian reference is the same for every layer and variant. It is repeated for each of them, so
    that every row of the table can be compared with it.
    """
    edges = EDGES.numpy()
    gaussian, cosines = Sums(), gaussian_cosines(facts.width, seed)
    gaussian.add_ungrouped(PAIR, DEFAULT, cosines)
    gaussian.count(PAIR, DEFAULT, cosines)
    random = gaussian.result()
    rows: Rows = []
    # A corpus of one text has no pairs.
    for variant in (v for v in VARIANTS if {(CLASS, v), (PAIR, v)} & totals.moments.keys()):
        for kind, references in ((CLASS, SAME_TOKEN), (PAIR, RANDOM_PAIR)):
            if (kind, variant) not in totals.moments:
                continue
            whole = totals.moments[kind, variant].joined()
            if kind == PAIR:
                default, within = totals.sums[UNITS, DEFAULT], totals.sums[WITHIN, DEFAULT]
                sums = totals.sums[UNITS, variant], totals.sums[WITHIN, variant]
                whole = replace(whole, mean=mean_of_pairs(*sums, default, within[-2])[None])
            counts = totals.sums[kind, variant]
            for column in range(whole.mean.shape[1]):
                layer, reference = divmod(column, len(references))
                row = _moments(facts, layer + 1, variant, references[reference], whole, 0, column)
                rows.append({**row, "histogram_edges": edges, "histogram_counts": counts[column]})
        for layer in range(1, facts.layers + 1):
            row = _moments(facts, layer, variant, GAUSSIAN_PAIR, random.moments[PAIR, DEFAULT], 0, 0)
            rows.append({**row, "histogram_edges": edges, "histogram_counts": random.sums[PAIR, DEFAULT][0]})
    return schema.table("positions/similarity", rows)


def perplexity_rows(totals: Totals, facts: ModelFacts) -> pa.Table:
    """Return `positions/perplexity`, without rows for an encoder."""
    rows: Rows = []
    for variant in totals.variants(TEXT, VARIANTS):
        texts, tokens = totals.moments[TEXT, variant], totals.moments[LOSS, variant].joined()
        means = {"mean": texts.mean[0, 0], "corpus": _exp(tokens.mean[0, 0]), "token_mean": tokens.mean[0, 1]}
        rows.append({"model": facts.name, "variant": variant, "n": int(texts.count[0]), **means})
    return schema.table("positions/perplexity", rows)


def perplexity_position_rows(totals: Totals, facts: ModelFacts) -> pa.Table:
    """Return `positions/perplexity_by_position`, without rows for an encoder."""
    rows: Rows = []
    for variant in totals.variants(LOSS, VARIANTS):
        moments = totals.moments[LOSS, variant]
        columns = (moments.ids.tolist(), moments.count.tolist(), moments.mean[:, 0].tolist(), moments.std[:, 0])
        for position, n, loss, std in zip(*columns, strict=True):
            known = {"model": facts.name, "variant": variant, "position": position, "n": n}
            rows.append({**known, "loss": loss, "loss_std": std, "perplexity": _exp(loss)})
    return schema.table("positions/perplexity_by_position", rows)


def norm_rows(totals: Totals, facts: ModelFacts, norms: Float32s) -> pa.Table:
    """Return `positions/norms`: a row for every position of the model's table, with means over its tokens if any."""
    moments = totals.moments.get((INPUT, DEFAULT), GroupedMoments.empty(len(INPUT_VALUES)))
    n, means = np.zeros(len(norms), np.int64), np.full((len(norms), len(INPUT_VALUES)), np.nan)
    n[moments.ids], means[moments.ids] = moments.count, moments.mean
    columns = {"model": [facts.name] * len(norms), "position": np.arange(len(norms)), "norm": norms, "n": n}
    return schema.table("positions/norms", columns | dict(zip(INPUT_VALUES, means.T, strict=True)))


def grouped_rows(table: str, totals: Totals, facts: ModelFacts) -> pa.Table:
    """Return `positions/by_class` or `positions/by_position`; a group without tokens has no row."""
    kind = CLASS if table == "positions/by_class" else POSITION
    rows: Rows = []
    for variant in totals.variants(kind, VARIANTS):
        moments = totals.moments[kind, variant]
        for i, group in enumerate(moments.ids.tolist()):
            name = {"token_class": CLASSES[group]} if kind == CLASS else {"position": group}
            for column in range(moments.mean.shape[1]):
                layer, reference = divmod(column, len(SAME_TOKEN))
                row = _moments(facts, layer + 1, variant, SAME_TOKEN[reference], moments, i, column)
                rows.append({**row, **name})
    return schema.table(table, rows)


def _moments(
    facts: ModelFacts, layer: int, variant: str, reference: str, moments: GroupedMoments, group: int, column: int
) -> dict[str, Any]:
    known = {"model": facts.name, "layer": layer, "variant": variant, "reference": reference}
    n, mean, m2 = moments.count[group], moments.mean[group, column], moments.m2[group, column]
    return {**known, "n": int(n), "mean": float(mean), "std": float(np.sqrt(m2 / n))}


def _exp(loss: float) -> float:
    return float(np.exp(min(loss, _MOST_LOSS)))
