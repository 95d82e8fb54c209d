"""The index that the search field of a static site searches: explanations and the strongest patterns, as a script."""

import json
import math
import re
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import pyarrow as pa

Row = dict[str, Any]
Key = tuple[int, int, str]

STRONGEST = 4  # number of indexed patterns of each kind, and of marks, for each neuron and pole
# The part of an explanation that says how much of the activation is explained, for which nobody searches.
_HOW_MUCH = re.compile(r" (?:Explains|Over its whole range) [^*]*$")


def search_index(
    scores: Iterable[Row],
    explanations: Iterable[Row],
    terms: dict[str, pa.Table],
    neurons: Collection[Key],
    pages: Collection[tuple[int, int]],
) -> str:
    """Return the index as a script that sets `atlasIndex`.

    The index has an entry for each neuron and pole, in the order of `jobs.browse`: the highest excess first. An entry
    has `layer`, `unit`, `pole`, `excess` (the held-out score minus that of the matched set, or null) and `text` (the
    explanation of the winners, or empty). `terms` lists, for each kind and term, the entries with that term, as the
    gaps between their ascending indices in base 36. `pages` lists the neurons that have a page.

    Args:
        scores: rows with `layer`, `unit`, `pole` and `auc_excess`, which may be null.
        explanations: rows with `text`, only for neurons and poles that have an explanation.
        terms: for each kind, rows with `term`.
        neurons: all neurons with each of their poles.
        pages: layer and unit of the neurons that have a page.
    """
    margins = {_key(row): row["auc_excess"] for row in scores if row["auc_excess"] is not None}
    keys = sorted(neurons, key=lambda key: (-margins.get(key, -math.inf), key))
    place = {key: at for at, key in enumerate(keys)}
    texts = [""] * len(keys)
    for row in explanations:
        if _key(row) in place:
            texts[place[_key(row)]] = _HOW_MUCH.sub("", row["text"])
    # Most texts are those of verdicts without a rule, so each is written once.
    number = {text: at for at, text in enumerate(dict.fromkeys(texts))}
    index = {
        "layer": [key[0] for key in keys], "unit": [key[1] for key in keys], "pole": [key[2] for key in keys],
        "texts": list(number), "text": [number[text] for text in texts],
        "excess": [round(margins[key], 3) if key in margins else None for key in keys],
        "terms": {kind: _postings(rows, place) for kind, rows in terms.items()},
        "pages": [f"{layer}-{unit}" for layer, unit in pages],
    }  # fmt: skip
    script = f"atlasIndex = {json.dumps(index, separators=(',', ':'))};\n"
    return script + "atlasIndex.text = atlasIndex.text.map((at) => atlasIndex.texts[at]);\n"


def _key(row: Row) -> Key:
    return row["layer"], row["unit"], row["pole"]


def _postings(rows: pa.Table, place: dict[Key, int]) -> dict[str, str]:
    found: dict[str, set[int]] = {}
    for row in rows.to_pylist():
        if _key(row) in place:
            found.setdefault(row["term"], set()).add(place[_key(row)])
    return {term: _gaps(sorted(found[term])) for term in sorted(found)}


def _gaps(places: list[int]) -> str:
    """Return ascending indices as the gaps between them, in base 36.

    >>> _gaps([0, 3, 40])
    '1 3 11'
    """
    return " ".join(np.base_repr(gap, 36).lower() for gap in np.diff(places, prepend=-1).tolist())
