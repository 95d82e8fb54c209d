"""The sentences with which a text is compared: those of the activation sample that are about as long."""

from dataclasses import dataclass

import numpy as np

from ops.arrays import Int64s
from ops.storage.open_tables import OpenTables

MOST, LEAST = 1_000, 200  # sentences of a reference; with fewer than LEAST there is no comparison
FARTHEST = 0.25  # largest difference in tokens, as a share of the text's own number


@dataclass(frozen=True)
class Sample:
    """The sentences of the activation sample.

    Attributes:
        ids: their ids in the order of activations/, `[sentences]`.
        lengths: the number of model tokens of each, `[sentences]`.
    """

    ids: Int64s
    lengths: Int64s

    @classmethod
    def read(cls, tables: OpenTables) -> "Sample":
        """Return the sample of a run."""
        ids = tables.read("activations", None, ["sent_id"])["sent_id"].to_numpy()
        rows = tables.rows_of_keys("corpus", "sent_id", set(ids.tolist()), ["sent_id", "n_tokens"])
        tokens = {row["sent_id"]: row["n_tokens"] for row in rows}
        return cls(ids, np.array([tokens[i] for i in ids.tolist()], np.int64))

    def nearest(self, tokens: int, own: int = -1) -> Int64s:
        """Return the indices, ascending, of the sentences nearest in length to a text; none if they are too few.

        Args:
            tokens: the text's number of model tokens.
            own: the id of the sentence of the corpus that the text is, which is left out.
        """
        distance = np.abs(self.lengths - tokens)
        near = np.flatnonzero((distance <= FARTHEST * tokens) & (self.ids != own))
        nearest = near[np.lexsort((self.ids[near], distance[near]))][:MOST]
        return np.sort(nearest) if len(nearest) >= LEAST else nearest[:0]
