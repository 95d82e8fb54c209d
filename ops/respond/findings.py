"""What is said about each text: how unusual it is, its most unusual units with their explanations, and their peaks."""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Int64s
from ops.facts.rows import POLE, Key, key_of
from ops.model.activations import Scorer
from ops.model.batches import Lengths
from ops.respond.common import Common
from ops.respond.measure import Corpus, Measured, is_outer, known
from ops.respond.texts import OwnText
from ops.storage.open_tables import OpenTables
from ops.tokens.read_tokens import read_tokens
from ops.tokens.winners import Winners
from ops.topk.neurons import Neurons

Row = dict[str, Any]
Rows = list[Row]


@dataclass(frozen=True)
class Explained:
    """What a run says about its units at each pole.

    Attributes:
        tables: the run's tables.
        names: the names of the tables that it has.
    """

    tables: OpenTables
    names: Container[str]

    def families(self, neurons: Neurons) -> Int64s:
        """Return the family of each unit at the bottom and at the top, -1 without one, `[2, units]`."""
        found = np.full((2, len(neurons)), -1)
        if "families" in self.names:
            rows = self.tables.read("families", None, [*POLE, "family"])
            number = neurons.number(rows["layer"].to_numpy(), rows["unit"].to_numpy())
            found[pc.equal(rows["pole"], "top").cast("int8").to_numpy(), number] = rows["family"].to_numpy()
        return found

    def add(self, rows: Rows) -> Rows:
        """Return rows of units and poles with the `text` and the `verdict` of the explanation, None without one."""
        known: dict[Key, Row] = {}
        for layer in {row["layer"] for row in rows} if "explanations" in self.names else ():
            units = pa.array({row["unit"] for row in rows if row["layer"] == layer}, pa.int32())
            where = (pc.field("layer") == layer) & pc.field("unit").isin(units)
            found = self.tables.read("explanations", where, [*POLE, "text", "verdict"]).to_pylist()
            known |= {key_of(row): {"explanation": row["text"], "verdict": row["verdict"]} for row in found}
        none = {"explanation": None, "verdict": None}
        return [row | known.get(key_of(row), none) for row in rows]


def in_order(measured: Measured, text: int, units: Int64s) -> Int64s:
    """Return those of the units whose tail is known, the most unusual first: by `tail_like`, then by `tail`."""
    tail, like = np.abs(measured.tail[text, units]), np.abs(measured.tail_like[text, units])
    order = np.lexsort((units, tail, like))  # NaN comes last
    return np.asarray(units[order][: np.count_nonzero(~np.isnan(tail))])


def unit_rows(corpus: Corpus, measured: Measured, text: int, units: Int64s, families: Int64s, most: int | None) -> Rows:
    """Return rows of the most unusual units of a text, one for each family, or of all units.

    Args:
        corpus, measured: the corpus, and how unusual the texts are.
        text: the index of the text.
        units: the units to choose from.
        families: the family of each unit at the bottom and at the top, -1 without one, `[2, units]`.
        most: the number of rows; None for all units, whatever their families.

    Returns:
        Rows with `layer`, `unit`, `pole` (the end at which the unit is unusual), `activation`, `z`, `tail`,
        `tail_like`, `rank` among the winners of that pole, and `alike`, the number of other units of the family that
        are outer at their poles. What is not known is None.
    """
    order = in_order(measured, text, units)
    tail, like = measured.tail[text, order], measured.tail_like[text, order]
    is_top = np.where(np.isnan(like), tail, like) > 0
    family, outer = families[is_top.astype(int), order], is_outer(tail)
    chosen = np.arange(len(order))
    if most is not None:
        _, first = np.unique(np.where(family < 0, -1 - chosen, family), return_index=True)
        chosen = np.sort(first)[:most]
    layers, within = corpus.neurons.layer_and_unit(order[chosen])
    rows = []
    for at, layer, unit in zip(chosen.tolist(), layers.tolist(), within.tolist(), strict=True):
        same = (family == family[at]) & outer if most is not None and family[at] >= 0 else outer[at : at + 1]
        rank = int(measured.rank[text, order[at]]) if (tail[at] > 0) == is_top[at] else 0
        rows.append({
            "layer": layer, "unit": unit, "pole": "top" if is_top[at] else "bottom",
            "activation": float(measured.activation[text, order[at]]), "z": known(measured.z[text, order[at]]),
            "tail": known(abs(tail[at])), "tail_like": known(abs(like[at])), "rank": rank or None,
            "alike": int(same.sum()) - int(outer[at]),
        })  # fmt: skip
    return rows


def add_peaks(
    scorer: Scorer, texts: Sequence[OwnText], rows: Sequence[Rows], budget: int, lengths: Lengths
) -> list[Rows]:
    """Return the rows of each text with `peak`, the word at which the unit peaks, its `span`, and `tokens`.

    `tokens` are the unit's activations at each token. A text without words, or whose tokenizer reports no positions,
    has no peak.

    Args:
        scorer: the model.
        texts: the texts.
        rows: the rows of each text, as `unit_rows` returns them.
        budget, lengths: as `length_batches` takes them.
    """
    every = [(text, row) for text, own in enumerate(rows) for row in own]
    if not every:
        return [list(own) for own in rows]
    sentence, layer, unit = (
        np.array(c, np.int64) for c in zip(*((t, r["layer"], r["unit"]) for t, r in every), strict=True)
    )
    sign = np.array([1 if row["pole"] == "top" else -1 for _, row in every], np.float32)
    activation = np.array([row["activation"] for _, row in every], np.float32)
    placed = [text.placed for text in texts]
    words = [text.word_of_token for text in texts]
    chosen = np.unique(sentence)  # every sentence that is read has a row
    found = read_tokens(
        scorer, Winners(np.searchsorted(chosen, sentence), layer, unit, sign, activation),
        [placed[i] for i in chosen], [words[i] for i in chosen], budget, lengths,
    )  # fmt: skip
    result: list[Rows] = [[] for _ in rows]
    for at, (text, row) in enumerate(every):
        word = int(found.peak[at])
        span = texts[text].words[word] if word >= 0 else None
        values = found.values[found.offsets[at] : found.offsets[at + 1]].tolist()
        peak = None if span is None else texts[text].text[slice(*span)]
        result[text].append(row | {"peak": peak, "span": span, "tokens": values})
    return result


def text_facts(text: OwnText, sentence: tuple[int, str] | None, measured: Measured, at: int, rows: Rows) -> Row:
    """Return what is known of a text, as JSON.

    Args:
        text: the text.
        sentence: the id and the data set of the sentence of the corpus that it is; None for a new text.
        measured: how unusual the texts are.
        at: the index of the text among them.
        rows: its rows.
    """
    starts, ends = text.ends_of_tokens
    return {
        "text": text.text, "tokens": text.tokens, "cut": text.placed.tokens.cut, "notes": list(text.notes),
        "sent_id": sentence[0] if sentence else None, "dataset": sentence[1] if sentence else None,
        "units": int(np.count_nonzero(~np.isnan(measured.tail[at]))), **measured.wholes[at].as_json(),
        "starts": starts, "ends": ends,
        "rows": rows,
    }  # fmt: skip


def common_facts(common: Common, corpus: Corpus, explained: Explained, most: int) -> Row:
    """Return what texts have in common, as JSON; at most `most` units, and how many units draws of sentences share."""
    units, draws = common.units(), common.of_draws()
    rows = []
    for number, pole, texts in units[:most]:
        layer, unit = corpus.neurons.layer_and_unit(np.array(number))
        rows.append({"layer": int(layer), "unit": int(unit), "pole": pole, "texts": texts})
    return {
        "texts": common.texts, "units": len(units), "draws": len(draws),
        "draws_q50": float(np.median(draws)) if len(draws) else None,
        "draws_q95": float(np.quantile(draws, 0.95)) if len(draws) else None, "rows": explained.add(rows),
    }  # fmt: skip
