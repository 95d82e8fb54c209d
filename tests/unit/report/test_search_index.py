"""The index of a static site's search: what its script reads back is what the tables have."""

import gzip
import json
import math
from base64 import b64decode
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from ops.facts.search import BY_VERDICT, by_verdict
from ops.report.search_index import search_index

KEYS = [(layer, unit, pole) for layer in (1, 2) for unit in range(60) for pole in ("bottom", "top")]


def row(place: int, form: str, kind: str, found: str, g2: float = 5.0, **more: Any) -> dict[str, Any]:
    layer, unit, pole = KEYS[place]
    here = {"layer": layer, "unit": unit, "pole": pole, "form": form, "kind": kind, "found": found, "text": found}
    return here | {"g2": g2, "lift": 2.5, "q": 0.003} | more


def index_of(script: str) -> Any:
    packed = script.removeprefix('atlasIndex = "').removesuffix('";\n')
    return json.loads(gzip.decompress(b64decode(packed)))


def test_the_terms_of_each_neuron_can_be_read_back() -> None:
    rows = [
        row(0, "words", "word", "<b>end", 12.3),
        row(77, "words", "word", "<b>end", 1_234.5, lift=90.0, q=0.0),
        row(239, "codes", "subtree", "(NP (DT))"),
        row(5, "group", "word_class", "exam, school", text="exam|school|lesson"),
    ]
    known = {
        KEYS[77]: {
            "text": "Typically *a* (9 %, 1 %). Over all sentences 3 % of its activation is explained.",
            "verdict": "rule",
            "auc": 0.70049,
        },
        KEYS[78]: {"text": "Typically *b* (9 %, 1 %), *a*, *b* (8 %, 1 %). Rule: sentences with *b* and *1.5, 2.5*."},
    }
    index = index_of(search_index(pa.Table.from_pylist(rows), KEYS, known, [(2, 5)]))
    assert list(zip(index["layer"], index["unit"], strict=True)) == [key[:2] for key in KEYS]
    entries = index["terms"]["words"]["word"]["<b>end"]
    read = [(at, g2 / 10, math.exp(lift / 100), q / -100) for at, g2, lift, q in (entries[:4], entries[4:])]
    assert [entry[:2] for entry in read] == [(0, 12.3), (77, 1_234.5)]
    assert [entry[2] for entry in read] == pytest.approx([2.5, 90.0], rel=0.006)
    assert read[0][3] == pytest.approx(math.log10(0.003), abs=0.011)
    assert read[1][3] < -100
    assert set(index["terms"]["group"]["word_class"]) == {"exam|school|lesson"}
    assert {place: text for place, text in enumerate(index["text"]) if text} == {
        77: "Typically *a*.",
        78: "Typically *b*, *a*, *b*. Rule: sentences with *b* and *1.5, 2.5*.",
    }
    assert (index["score"][77], index["pages"]) == (0.7, ["2-5"])
    # Neurons that are left out are not found.
    assert index_of(search_index(pa.Table.from_pylist(rows), KEYS[1:5], {}, []))["terms"] == {}


def test_neurons_without_a_phrase_have_one_order_in_sql_and_here() -> None:
    """The order is that of the exact values, not of those that the index shows."""
    margins = [0.1, None, 0.20001, 0.20004, 0.1, None]
    excess = [None, 0.1, 0.2, None, 0.3, 0.2]
    table = pa.table(
        {"layer": [1] * 6, "unit": range(6), "pole": ["top"] * 6, "margin_low": margins, "auc_excess": excess}
    )
    connection = duckdb.connect()
    connection.register("found", table)
    in_sql = [unit for (unit,) in connection.execute(f"select unit from found order by {BY_VERDICT}").fetchall()]
    rows = sorted(table.to_pylist(), key=lambda one: by_verdict((1, one["unit"], "top"), one))
    assert [one["unit"] for one in rows] == in_sql == [3, 2, 4, 0, 5, 1]
