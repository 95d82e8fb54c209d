import re

import numpy as np

from ops.respond.measure import Measured, response_rows
from ops.schema.responses import RESPONSES
from tests.conftest import ROOT
from tests.unit.respond.made_corpus import made_corpus
from tests.unit.test_docs import TYPES


def test_a_row_for_each_text_and_unit_with_nulls_for_what_is_not_known() -> None:
    values = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    corpus = made_corpus(values, np.full(50, 9), np.arange(50), widths=(1, 2))
    tail = np.array([[0.02, np.nan, -0.4], [1, -0.1, 0.3]])
    measured = Measured(
        values[:2],
        np.array([[1, np.nan, 2], [3, 4, 5.0]]),
        tail,
        tail / 2,
        np.array([[1, 0, 0], [0, 3, 0]], np.int32),
        [],
    )
    rows = response_rows(corpus, measured, ["a", "b"], 7).to_pylist()
    assert [(row["number"], row["text"], row["layer"], row["unit"]) for row in rows] == [
        (7, "a", 1, 0), (7, "a", 2, 0), (7, "a", 2, 1), (8, "b", 1, 0), (8, "b", 2, 0), (8, "b", 2, 1),
    ]  # fmt: skip
    assert [row["pole"] for row in rows] == ["top", None, "bottom", "top", "bottom", "top"]
    assert [row["rank"] for row in rows] == [1, None, None, None, 3, None]
    assert [row["tail"] for row in rows] == [
        np.float32(0.02),
        None,
        np.float32(0.4),
        1,
        np.float32(0.1),
        np.float32(0.3),
    ]
    assert [row["z"] for row in rows] == [1, None, 2, 3, 4, 5]
    assert rows[2]["tail_like"] == np.float32(0.2)
    assert rows[5]["activation"] == values[1, 2]


def test_its_columns_are_documented() -> None:
    section = (ROOT / "docs/tables.md").read_text(encoding="utf-8").split("## responses")[1].split("\n## ")[0]
    found = re.findall(r"^\| `(\w+)` \| `([^`]+)`( or null)? \|", section, re.MULTILINE)
    assert found == [(c.name, TYPES.get(c.type, str(c.type)), " or null" * c.nullable) for c in RESPONSES.columns]
