"""Reads a run's first winners token by token from its finished tables, for exports in other programs' formats."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from ops.arrays import Bools, Float32s, Int32s, Int64s
from ops.storage.open_tables import OpenTables
from ops.topk.neurons import Neurons

TABLE, NEGATIVES = "token_activations", "negative_tokens"
SIGN = {"top": 1, "bottom": -1}  # the factor that makes a pole's strongest activation the highest


@dataclass(frozen=True)
class Side:
    """The exported units of one layer at one pole: a source of Neuronpedia, a module of delphi.

    Attributes:
        layer: the layer, counted from 1; 0 is the embeddings.
        pole: `top` or `bottom`.
        width: number of units of the layer.
        units: the exported units, ascending, `[units]`.
        n_winners: number of winners of each exported unit that were read token by token, `[units]`.
    """

    layer: int
    pole: str
    width: int
    units: Int32s
    n_winners: Int64s


@dataclass(frozen=True)
class Winners:
    """Some winners token by token, sorted by unit and rank; the tokens of all winners are concatenated.

    Attributes:
        unit, rank, sent_id: the unit, rank and sentence id of each winner, `[winners]`.
        offsets: the index of each winner's first token, followed by the end, `[winners + 1]`.
        tokens: the tokens as the vocabulary writes them, `[tokens]`.
        starts, ends: the position of each token in its sentence, in characters; -1 if the tokenizer added the token.
        heights: the activation at each token, times -1 at the bottom pole, float32 `[tokens]`.
        counts: whether a token counts for the pooled activation, `[tokens]`.
    """

    unit: Int32s
    rank: Int32s
    sent_id: Int64s
    offsets: Int64s
    tokens: pa.Array
    starts: Int32s
    ends: Int32s
    heights: Float32s
    counts: Bools

    @property
    def row(self) -> Int64s:
        """The index of the winner to which each token belongs, `[tokens]`."""
        return np.repeat(np.arange(len(self.unit)), np.diff(self.offsets))

    @property
    def place(self) -> Int64s:
        """The index of each token in its sentence, from 0, `[tokens]`."""
        return np.arange(self.offsets[-1]) - np.repeat(self.offsets[:-1], np.diff(self.offsets))


class WinnersReader:
    """Reads the first winners of chosen units from a run's finished tables.

    Args:
        chosen: the indices of the units to export, ascending.
        added_count: whether tokens that the tokenizer added count for the pooled activation.
        first_counts: whether the first token of a sentence counts for the pooled activation.
        has_negatives: whether the run has hard negatives token by token.
    """

    def __init__(
        self, tables: OpenTables, neurons: Neurons, chosen: Int64s, added_count: bool, first_counts: bool,
        has_negatives: bool = False,
    ) -> None:  # fmt: skip
        self.tables, self.neurons, self.has_negatives = tables, neurons, has_negatives
        self._added_count, self._first_counts = added_count, first_counts
        self.sides = self._find_sides(chosen)

    def _find_sides(self, chosen: Int64s) -> list[Side]:
        layers, units = self.neurons.layer_and_unit(chosen)
        sides = []
        for layer in map(int, np.unique(layers)):
            layer_units, width = units[layers == layer], self.neurons.width(layer)
            rows = self.tables.read(TABLE, ds.field("layer") == layer, ["unit", "pole"])
            for pole in SIGN:
                at = rows["unit"].to_numpy()[pc.equal(rows["pole"], pole).to_numpy()]
                if len(at):
                    sides.append(Side(layer, pole, width, layer_units, np.bincount(at, minlength=width)[layer_units]))
        return sides

    def read(self, side: Side, first: int, stop: int, table: str = TABLE) -> Winners:
        """Return the winners, or hard negatives, in a table for a side's units from `first` to `stop` - 1."""
        field = ds.field
        where = (field("layer") == side.layer) & (field("pole") == side.pole)
        where &= (field("unit") >= first) & (field("unit") < stop)
        rows = self.tables.read(table, where).combine_chunks()
        rows = rows.filter(pc.is_in(rows["unit"], pa.array(side.units))).combine_chunks()
        lengths = pc.list_value_length(rows["activations"]).to_numpy()
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        starts, ends = (pc.list_flatten(rows[name]).fill_null(-1).to_numpy() for name in ("starts", "ends"))
        counts = np.ones(offsets[-1], bool)
        # A tokenizer without positions returns none for any token, so which tokens it added is not known.
        if not self._added_count and (starts >= 0).any():
            counts &= starts >= 0
        if not self._first_counts:
            counts[offsets[:-1]] = False
        heights = pc.list_flatten(rows["activations"]).to_numpy() * np.float32(SIGN[side.pole])
        tokens = pc.list_flatten(rows["tokens"]).combine_chunks()
        unit, rank, sent_id = (rows[name].to_numpy() for name in ("unit", "rank", "sent_id"))
        return Winners(unit, rank, sent_id, offsets, tokens, starts, ends, heights, counts)

    def tokens_that_count(self) -> int:
        """Return the number of tokens that count in all sentences of the corpus together."""
        sentences = tokens = 0
        for batch in self.tables.dataset("corpus").to_batches(columns=["n_tokens"]):
            sentences, tokens = sentences + batch.num_rows, tokens + (pc.sum(batch["n_tokens"]).as_py() or 0)
        # A tokenizer adds the same number of tokens to each sentence.
        side = next(side for side in self.sides if side.n_winners.any())
        unit = int(side.units[side.n_winners.argmax()])
        winners = self.read(side, unit, unit + 1)
        return tokens - sentences * int((~winners.counts[: winners.offsets[1]]).sum())

    def sentences(self) -> Int64s:
        """Return the ids of sentences that are a winner or a hard negative of any exported unit, ascending."""
        parts = [np.empty(0, np.int64)]
        for layer in dict.fromkeys(side.layer for side in self.sides):
            units = next(side.units for side in self.sides if side.layer == layer)
            where = (ds.field("layer") == layer) & ds.field("unit").isin(pa.array(units))
            for table in (TABLE, NEGATIVES) if self.has_negatives else (TABLE,):
                parts.append(self.tables.read(table, where, ["sent_id"])["sent_id"].unique().to_numpy())
        return np.unique(np.concatenate(parts))

    def texts(self, sent_ids: Int64s) -> dict[int, str]:
        """Return the texts of some sentences by their ids."""
        rows = self.tables.rows_of_keys("sentences", "sent_id", set(sent_ids.tolist()), ["sent_id", "text"])
        return {row["sent_id"]: row["text"] for row in rows}
