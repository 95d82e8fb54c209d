from typing import Any

import numpy as np
import pyarrow as pa

from ops.meaning.confusion import document_number, examples_of, find_examples

SETS = [("to", "two", "too"), ("then", "than")]
TEXTS = ["Go to two towns then.", "Nothing here.", "Too late to go.", "More than two, then."]
LAYERS, WIDTH = 2, 3


class Reader:
    """Replaces a model: the state at a blank is its position in the text; the first word has none."""

    layers, width = LAYERS, WIDTH

    def blanks(self, texts: list[str], spans: list[tuple[int, int]]) -> list[Any]:
        return [start or None for start, _ in spans]

    def read(self, blanks: list[Any]) -> np.ndarray:
        states = np.zeros((len(blanks), LAYERS, WIDTH), np.float32)
        states += np.array(blanks, np.float32).reshape(-1, 1, 1)
        states[states == 10] = np.nan
        return states


def corpus(rows: range) -> pa.Table:
    texts = [TEXTS[i % len(TEXTS)] for i in rows]
    return pa.table(
        {"sent_id": list(rows), "text": texts, "dataset": ["a"] * len(rows), "doc_id": [f"d{i}" for i in rows]}
    )


def find(rows: range, most: int = 100, stated: int = 100) -> tuple[pa.Table, dict[str, Any]]:
    reader: Any = Reader()
    return find_examples(corpus(rows), SETS, reader, most, stated, 5, 0)


def test_every_occurrence_is_found_with_its_words_and_its_state() -> None:
    table, notes = find(range(8))
    assert notes == {"found": [10, 6], "not_finite": 2}  # `two` and `than` at the tenth character or elsewhere
    assert table.num_rows == 16
    rows = table.to_pylist()
    assert [row["set"] for row in rows] == sorted(row["set"] for row in rows)
    without = [row for row in rows if row["state"] is None]
    assert len(without) == 2 + notes["not_finite"]  # `Too` is the first word
    for number in range(2):
        order = [row["order"] for row in rows if row["set"] == number]
        assert order == sorted(order)
    known = {document_number("a", f"d{i}", 0) for i in range(8)}
    assert {row["document"] for row in rows} <= known


def test_a_quota_keeps_the_first_of_each_set_and_gives_fewer_a_state() -> None:
    table, notes = find(range(8), 4, 2)
    assert notes["found"] == [10, 6]
    assert np.bincount(table["set"].to_numpy()).tolist() == [4, 4]
    whole, _ = find(range(8))
    for number in range(2):
        own, every = ([r["order"] for r in t.to_pylist() if r["set"] == number] for t in (table, whole))
        assert own == every[:4]
    assert table["state"].null_count >= 4


def test_examples_are_the_same_however_the_corpus_is_cut() -> None:
    together = examples_of(0, [find(range(8))[0]], LAYERS, WIDTH)
    apart = examples_of(0, [find(range(3))[0], find(range(3, 4))[0], find(range(4, 8))[0]], LAYERS, WIDTH)
    assert together.words == apart.words
    for name in ("label", "states", "has_state", "document"):
        np.testing.assert_array_equal(getattr(together, name), getattr(apart, name))
    assert together.states.shape == (together.has_state.sum(), LAYERS, WIDTH)
    assert len(together.label) == 10
    table, notes = find(range(1, 2))
    assert (table.num_rows, notes) == (0, {"found": [0, 0], "not_finite": 0})
