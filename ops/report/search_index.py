"""The index that the search field of a static site searches: the evidence that all searches rank, as a script."""

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ops.facts.evidence import OF_PLACES
from ops.facts.query import FILTER, KIND, NUMBERS, PERSON, QUOTED
from ops.facts.run_facts import Key, key_of
from ops.facts.text import in_brief
from ops.penn_names import codes_by_name

Row = dict[str, Any]

# The columns of the evidence that an index has, and which rows: all single tags, and the strongest others of each
# neuron, pole and kind. All words of a small run are among its strongest.
COLUMNS = "layer, unit, pole, form, kind, found, text, g2, lift, q"
STRONGEST, STRONGEST_LONG = 20, 4
LISTED = (
    f"if(form = 'codes' and contains(text, ' '), rank <= {STRONGEST_LONG}, "
    f"rank <= {STRONGEST} or form = 'codes' or form = 'group')"
)
_DIGITS = (4, 2, 3)  # characters of a G2, a lift and a q
_PIECE_END = re.compile(r"(?<=[.,] )")


def search_index(
    evidence: pa.Table,
    neurons: Sequence[Key],
    known: Mapping[Key, Row],
    pages: Collection[tuple[int, int]],
) -> str:
    """Return the index as a script that sets `atlasIndex`.

    `layer`, `unit` and `pole` have an entry for each neuron and pole; `text` (the explanation without its numbers),
    `verdict`, `across` and `score` say what is known of it. `terms` has, by form and kind, the entries that have a
    term and how strongly, each in `width` + 9 characters in base 36: the entry's index, G2 in tenths, 100 times the
    logarithm of the lift, and -100 times the decimal logarithm of q, rounded down. `names`, `places`, `numbers` and the
    regular expressions `filter`, `quoted`, `kind` and `person` are those of `jobs.show --find`.

    Args:
        evidence: rows with `COLUMNS`.
        neurons: all neurons with each of their poles, in the order in which they are listed without a phrase.
        known: for neurons and poles, what is known of `text`, `verdict`, `across` and `auc`.
        pages: layer and unit of the neurons that have a page.
    """
    at = {key: place for place, key in enumerate(neurons)}
    width = len(np.base_repr(max(len(neurons) - 1, 1), 36))
    rows = [known.get(key, {}) for key in neurons]
    scores = [row.get("auc") for row in rows]
    index = {
        "layer": [key[0] for key in neurons], "unit": [key[1] for key in neurons],
        "pole": _once([key[2] for key in neurons]),
        "text": _in_pieces([in_brief(row.get("text") or "") for row in rows]),
        "verdict": _once([row.get("verdict") for row in rows]), "across": _once([row.get("across") for row in rows]),
        "score": [None if score is None else round(score, 3) for score in scores],
        "terms": _terms(evidence.to_pylist(), at, width), "width": width, "names": codes_by_name(),
        "places": OF_PLACES, "numbers": NUMBERS, "filter": FILTER, "quoted": QUOTED, "kind": KIND, "person": PERSON,
        "pages": [f"{layer}-{unit}" for layer, unit in pages],
    }  # fmt: skip
    script = f"atlasIndex = {json.dumps(index, separators=(',', ':'))};\n"
    spread = "for (const name of ['pole', 'verdict', 'across']) "
    script += spread + "atlasIndex[name] = atlasIndex[name][1].map(at => atlasIndex[name][0][at]);\n"
    text = "atlasIndex.text[1].map(own => own.map(at => atlasIndex.text[0][at]).join(''))"
    return script + f"atlasIndex.text = {text};\n"


def _once(values: list[str | None]) -> tuple[list[str | None], list[int]]:
    """Return the distinct values, each once, and the index of each value."""
    number = {value: place for place, value in enumerate(dict.fromkeys(values))}
    return list(number), [number[value] for value in values]


def _in_pieces(texts: Sequence[str]) -> tuple[list[str], list[list[int]]]:
    """Return the distinct pieces of the texts, each once, and for each text the indices of the pieces that it joins.

    A piece ends after a comma or a sentence: neurons share most typical patterns, and the sentences of verdicts.
    """
    split = [_PIECE_END.split(text) for text in texts]
    number = {piece: place for place, piece in enumerate(dict.fromkeys(piece for own in split for piece in own))}
    return list(number), [[number[piece] for piece in own] for own in split]


def _terms(evidence: Iterable[Row], at: Mapping[Key, int], width: int) -> dict[str, dict[str, dict[str, str]]]:
    found: dict[str, dict[str, dict[str, str]]] = {}
    for row in evidence:
        place = at.get(key_of(row))
        if place is not None:
            kinds = found.setdefault(row["form"], {}).setdefault(row["kind"], {})
            # A group is found by any of its words, so these are the term.
            term = row["text"] if row["form"] == "group" else row["found"]
            kinds[term] = kinds.get(term, "") + packed(place, width, row["g2"], row["lift"], row["q"])
    return found


def packed(place: int, width: int, g2: float, lift: float, q: float) -> str:
    """Return an entry of a term as fixed numbers of characters in base 36.

    >>> packed(40, 2, 12.3, 2.0, 0.01)
    '14003f1x05k'
    """
    of_q = math.inf if q <= 0 else math.floor(-100 * math.log10(q) + 1e-6)
    numbers = (place, round(10 * g2), round(100 * math.log(lift)), of_q)
    return "".join(_base_36(value, digits) for value, digits in zip(numbers, (width, *_DIGITS), strict=True))


def _base_36(value: float, digits: int) -> str:
    return np.base_repr(int(min(value, 36**digits - 1)), 36).lower().rjust(digits, "0")
