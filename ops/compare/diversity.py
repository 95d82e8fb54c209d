"""The diversity of a layer's winners, measured by the error of k-means on their vectors (Oba 2021, Figure 3)."""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops import sampling, schema
from ops.arrays import Float32s, Floats, Int64s
from ops.corpus.corpus_tokens import CorpusTokens
from ops.model.activations import ScoreOptions, Scorer
from ops.model.check_states import equal_lengths
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.shards import Ids
from ops.statistics.k_means import fit_k_means
from ops.storage.arrays import read_arrays, write_arrays
from ops.storage.store import Store
from ops.storage.tables import read_parts
from ops.topk.silent import read_heard

MOST_AT_ONCE = 20_000  # maximum number of distinct points; with more, k-means uses mini-batches
STARTS = 3  # number of starts of k-means; the best result is used


def draw_winners(store: Store, layer: int, most: int, seed: int) -> pa.Table:
    """Draw at most `most` of a layer's winners, and return their sentences: `sent_id`, ascending, and `times`.

    `times` is how often each sentence was drawn. Winners of silent neurons are not drawn.
    """
    winners = read_heard(store, "topk", pc.field("layer") == layer, ["layer", "unit", "sent_id"])["sent_id"].to_numpy()
    rng = np.random.default_rng([seed, sampling.DIVERSITY, layer])
    drawn = rng.choice(winners, min(most, len(winners)), replace=False)
    sent_id, times = np.unique(drawn, return_counts=True)
    return pa.table({"sent_id": sent_id.astype(np.int64), "times": times.astype(np.int64)})


def draw_uniform(store: Store, sentences: int, most: int, seed: int) -> pa.Table:
    """Draw some of all scored sentences, each once, and return them in random order, as `draw_winners` does."""
    scored = np.ones(sentences, bool)
    for table in read_parts(store, "unscored", ["sent_id"]):
        scored[table["sent_id"].to_numpy()] = False
    candidates = np.flatnonzero(scored)
    rng = np.random.default_rng([seed, sampling.UNIFORM, 0])
    sent_id = rng.choice(candidates, min(most, len(candidates)), replace=False)
    return pa.table({"sent_id": sent_id.astype(np.int64), "times": np.ones(len(sent_id), np.int64)})


class Embedder:
    """A model that embeds sentences: the last layer's activations."""

    def __init__(self, facts: ModelFacts, scoring: ScoreOptions, token_budget: int) -> None:
        self.token_budget, self.tokenizer = token_budget, Tokenizer(facts)
        self.scorer = Scorer(facts, scoring, self.tokenizer.pad_id)
        self.equal_lengths = equal_lengths(self.scorer, self.tokenizer)

    def embed(self, tokens: CorpusTokens, shard: int, sent_ids: Ids) -> pa.Table:
        """Return the arrays `sent_ids`, ascending, and `vectors` of some sentences of a shard."""
        batches = tokens.batches(shard, self.token_budget, self.equal_lengths, sent_ids)
        scored = [(ids, self.scorer.score(batch)[-1].cpu().numpy()) for ids, batch in batches]
        ids, vectors = (np.concatenate(part) for part in zip(*scored, strict=True))
        order = np.argsort(ids)
        return write_arrays(sent_ids=ids[order], vectors=vectors[order])


class SentenceVectors:
    """Vectors by sentence, from the results of `Embedder.embed` in the order of their sentences."""

    def __init__(self, tables: Iterable[pa.Table]) -> None:
        parts = [read_arrays(table) for table in tables]
        self.ids, self.vectors = (np.concatenate([part[name] for part in parts]) for name in ("sent_ids", "vectors"))
        # A sentence that won in another layer may still have no finite vector at this site.
        self.finite = np.isfinite(self.vectors).all(1)

    def of(self, drawn: pa.Table) -> tuple[Float32s, Ids]:
        """Return the finite vectors of drawn sentences (`sent_id` and `times`), and how often each was drawn."""
        place = np.searchsorted(self.ids, drawn["sent_id"].to_numpy())
        return self.vectors[place[self.finite[place]]], drawn["times"].to_numpy()[self.finite[place]]


def squared_error(points: Floats, times: Int64s, clusters: int, seed: int) -> float:
    """Return the sum of squared distances of points to the k-means centroids, weighted by how often each point occurs.

    Args:
        points, times: the distinct points, `[points, width]`, and how often each of them occurs, `[points]`.
        clusters: number of clusters; 1 gives the spread around the mean.
    """
    method = fit_k_means(points, clusters, seed, STARTS, times, in_batches=len(points) > MOST_AT_ONCE)
    centres = method.cluster_centers_.astype(np.float64)
    return float(times @ ((points - centres[method.predict(points)]) ** 2).sum(1, dtype=np.float64))


def curve_rows(
    layer: int, points: Floats, uniform: Floats, times: Int64s, clusters: Sequence[int], seed: int
) -> pa.Table:
    """Return a layer's rows of `compare/diversity`.

    Args:
        points, uniform: vectors of the distinct winners, and of as many sentences drawn from the complete corpus, in
            random order, `[distinct, width]`.
        times: how often each winner was drawn, `[distinct]`. The uniform sentences get the same counts, so that the two
            sets have the same size and repetitions and differ only in their sentences.
        clusters: the numbers of clusters to compute; those above the number of distinct winners are skipped.
    """
    n, rows = int(times.sum()), []
    for count in sorted(set(clusters)):
        if count <= len(points):
            sse, of_uniform = (squared_error(vectors, times, count, seed) for vectors in (points, uniform))
            row = {"layer": layer, "clusters": count, "n": n, "n_distinct": len(points), "seed": seed}
            rows.append(row | {"sse": sse, "sse_per_point": sse / n, "sse_of_uniform": of_uniform})
    return schema.table("compare/diversity", rows)
