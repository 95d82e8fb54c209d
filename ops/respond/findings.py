"""What is said about each text: how unusual it is, its most unusual units with their explanations, and their peaks."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Int64s
from ops.facts.rows import POLE, Key, Row, Rows, key_of
from ops.model.activations import Scorer
from ops.respond.corpus import Corpus
from ops.respond.measure import Common, Measured, known
from ops.respond.tails import is_outer
from ops.respond.texts import OwnText
from ops.sentences.word_spans import words_of_tokens
from ops.tokens.read_tokens import read_tokens
from ops.tokens.winners import Winners


def with_explanations(corpus: Corpus, rows: Rows) -> Rows:
    """Return rows of units and poles with the text and the `verdict` of the `explanation`, None without one."""
    known: dict[Key, Row] = {}
    for layer in {row["layer"] for row in rows} if "explanations" in corpus.names else ():
        units = pa.array({row["unit"] for row in rows if row["layer"] == layer}, pa.int32())
        where = (pc.field("layer") == layer) & pc.field("unit").isin(units)
        explanations = corpus.tables.read("explanations", where, [*POLE, "text", "verdict"]).to_pylist()
        known |= {key_of(row): {"explanation": row["text"], "verdict": row["verdict"]} for row in explanations}
    none = {"explanation": None, "verdict": None}
    return [row | known.get(key_of(row), none) for row in rows]


def unit_rows(corpus: Corpus, measured: Measured, text: int, units: Int64s, most: int | None) -> Rows:
    """Return rows of the units of a text whose tail is known, by `tail_like`, then by `tail`, then by the size of `z`.

    Args:
        text: the index of the text.
        units: the units to choose from.
        most: the number of rows, one for each family; None for all units, whatever their families.

    Returns:
        Rows with `layer`, `unit`, `pole` (the end at which the unit is unusual), `activation`, `z`, `tail`,
        `tail_like`, `rank` among the winners of that pole, and `alike`, the number of other units of the family that
        are outer at their poles. What is not known is None.
    """
    tail, like = measured.tail[text, units], measured.tail_like[text, units]
    far = -np.abs(measured.z[text, units])  # in a small corpus many units have the smallest tail
    order = np.lexsort((units, far, np.abs(tail), np.abs(like)))[: np.count_nonzero(~np.isnan(tail))]  # NaN comes last
    units, tail, like = units[order], tail[order], like[order]
    is_top = np.where(np.isnan(like), tail, like) > 0
    outer, index = is_outer(tail), np.arange(len(units))
    # Units without a family, and all units if all are listed, are families of their own.
    family = corpus.families[is_top.astype(int), units] if most is not None else np.full(len(units), -1)
    _, first, number = np.unique(np.where(family < 0, -1 - index, family), return_index=True, return_inverse=True)
    alike = np.bincount(number, outer)[number] - outer
    layers, within = corpus.neurons.layer_and_unit(units)
    return [
        {
            "layer": int(layers[at]), "unit": int(within[at]), "pole": "top" if is_top[at] else "bottom",
            "activation": float(measured.activation[text, units[at]]), "z": known(measured.z[text, units[at]]),
            "tail": known(abs(tail[at])), "tail_like": known(abs(like[at])),
            "rank": int(measured.rank[text, units[at]]) or None if (tail[at] > 0) == is_top[at] else None,
            "alike": int(alike[at]),
        }
        for at in np.sort(first)[:most].tolist()
    ]  # fmt: skip


def add_peaks(
    scorer: Scorer, texts: Sequence[OwnText], rows: Sequence[Rows], budget: int, equal_lengths: bool
) -> list[Rows]:
    """Return the rows of each text with `peak`, the word at which the unit peaks, its `span`, and `tokens`.

    `tokens` are the unit's activations at each token. A text without words, or whose tokenizer reports no positions,
    has no peak.

    Args:
        rows: the rows of each text, as `unit_rows` returns them.
        budget, equal_lengths: as `length_batches` takes them.
    """
    every = [(text, row) for text, text_rows in enumerate(rows) for row in text_rows]
    result: list[Rows] = [[] for _ in rows]
    if not every:
        return result
    sentence, layer, unit = (
        np.array(c, np.int64) for c in zip(*((t, r["layer"], r["unit"]) for t, r in every), strict=True)
    )
    sign = np.array([1 if row["pole"] == "top" else -1 for _, row in every], np.float32)
    activation = np.array([row["activation"] for _, row in every], np.float32)
    chosen, number = np.unique(sentence, return_inverse=True)  # every sentence that is read has a row
    tokens = read_tokens(
        scorer, Winners(number, layer, unit, sign, activation), [texts[i].placed for i in chosen],
        [words_of_tokens(texts[i].placed.spans, texts[i].words) for i in chosen], budget, equal_lengths,
    )  # fmt: skip
    for at, (text, row) in enumerate(every):
        word = int(tokens.peak[at])
        span = texts[text].words[word] if word >= 0 else None
        values = tokens.values[tokens.offsets[at] : tokens.offsets[at + 1]].tolist()
        peak = None if span is None else texts[text].text[slice(*span)]
        result[text].append(row | {"peak": peak, "span": span, "tokens": values})
    return result


def text_facts(text: OwnText, measured: Measured, at: int, rows: Rows) -> Row:
    """Return what is known of a text, as JSON, with its rows; `at` is its index among the measured texts."""
    starts, ends = text.ends_of_tokens
    sent_id, dataset = text.sentence or (None, None)
    return {
        "text": text.text, "tokens": text.tokens, "cut": text.placed.tokens.cut, "notes": list(text.notes),
        "sent_id": sent_id, "dataset": dataset, "units": int(np.count_nonzero(~np.isnan(measured.tail[at]))),
        **measured.wholes[at], "starts": starts, "ends": ends, "rows": rows,
    }  # fmt: skip


def common_facts(common: Common, corpus: Corpus, most: int) -> Row:
    """Return what texts have in common, as JSON; at most `most` units, and how many units draws of sentences share."""
    units, draws = common.units(), common.of_draws()
    layers, within = corpus.neurons.layer_and_unit(np.array([unit for unit, _, _ in units[:most]], np.int64))
    rows = [
        {"layer": layer, "unit": unit, "pole": pole, "texts": texts}
        for layer, unit, (_, pole, texts) in zip(layers.tolist(), within.tolist(), units, strict=False)
    ]
    return {
        "texts": common.texts, "units": len(units), "draws": len(draws),
        "draws_q50": float(np.median(draws)) if len(draws) else None,
        "draws_q95": float(np.quantile(draws, 0.95)) if len(draws) else None, "rows": with_explanations(corpus, rows),
    }  # fmt: skip
