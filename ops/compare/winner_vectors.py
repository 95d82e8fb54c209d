"""The vectors of sentences drawn from winners, which are embedded one shard at a time and looked up by sentence."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from ops.arrays import Float32s
from ops.corpus.corpus_tokens import CorpusTokens
from ops.model.activations import ScoreOptions, Scorer
from ops.model.check_states import lengths_of_batches
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.shards import Ids


class Embedder:
    """A model that embeds sentences: the last layer's activations.

    Args:
        facts, scoring: the model, and how its activations are taken.
        token_budget: the token budget of a batch.
    """

    def __init__(self, facts: ModelFacts, scoring: ScoreOptions, token_budget: int) -> None:
        self.token_budget, self.tokenizer = token_budget, Tokenizer(facts)
        self.scorer = Scorer(facts, scoring, self.tokenizer.pad_id)
        self.lengths = lengths_of_batches(self.scorer, self.tokenizer)

    def embed(self, tokens: CorpusTokens, shard: int, sent_ids: Ids) -> pa.Table:
        """Return `sent_id` and `vector` of some sentences of a shard, sorted by `sent_id`."""
        ids, vectors = [], []
        for of_batch, batch in tokens.batches(shard, self.token_budget, self.lengths, sent_ids):
            ids.append(of_batch)
            vectors.append(self.scorer.score(batch)[-1].cpu().numpy())
        values = np.concatenate(vectors)
        listed = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])
        return pa.table({"sent_id": np.concatenate(ids), "vector": listed}).sort_by("sent_id")


class SentenceVectors:
    """Vectors by sentence.

    Args:
        tables: the results of `Embedder.embed`, in the order of their sentences.
    """

    def __init__(self, tables: Iterable[pa.Table]) -> None:
        ids, vectors = [], []
        for table in tables:
            column = table["vector"].combine_chunks()
            ids.append(table["sent_id"].to_numpy())
            vectors.append(column.flatten().to_numpy(zero_copy_only=False).reshape(-1, column.type.list_size))
        self.ids, self.vectors = np.concatenate(ids), np.concatenate(vectors)
        # A sentence that won in another layer may still have no finite vector at this site.
        self.finite = np.isfinite(self.vectors).all(1)

    def of(self, drawn: pa.Table) -> tuple[Float32s, Ids]:
        """Return the finite vectors of drawn sentences, and how often each was drawn.

        Args:
            drawn: a table with `sent_id` and `times`.
        """
        place = np.searchsorted(self.ids, drawn["sent_id"].to_numpy())
        return self.vectors[place[self.finite[place]]], drawn["times"].to_numpy()[self.finite[place]]
