"""Which documents a classifier is trained and tested on."""

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.errors import InputError
from ops.finetune.documents import (
    TEST,
    TRAIN,
    LabelledDocuments,
    choose_documents,
    collect_labels,
    join_sentences,
    side_rows,
    split_documents,
    split_sides,
)


def gathered(labels: dict[str, list[str | None]]) -> LabelledDocuments:
    """Documents d0, d1, ... whose sentences have these labels, a sentence of each in turn."""
    places = range(max(map(len, labels.values())))
    return collect_labels(
        (("set", doc_id), own[place]) for place in places for doc_id, own in labels.items() if place < len(own)
    )


def test_documents_are_chosen_and_what_is_left_out_is_counted() -> None:
    found = gathered(
        {"a1": ["a", None, "a"], "a2": ["a"], "b1": ["b"], "b2": ["b", "b"], "both": ["a", "b"], "rare": ["c"]}
        | {"none": [None], "x1": ["x"], "x2": ["x"]}
    )
    labels, left_out = choose_documents(found, "topic", ("x",), 2, None, 0)
    assert labels == {("set", d): d[0] for d in ("a1", "a2", "b1", "b2")}
    assert left_out == {
        "several labels": 1, "label dropped": 2, "not sampled": 0, "label too rare": 1, "sentences without a label": 2,
    }  # fmt: skip
    labels, left_out = choose_documents(gathered({f"{i}": ["ab"[i % 2]] for i in range(100)}), "topic", (), 2, 30, 0)
    assert len(labels) == 30
    assert left_out["not sampled"] == 70


def test_labels_that_nothing_can_be_learnt_from_are_refused() -> None:
    mixed: dict[str, list[str | None]] = {
        "d": ["a"],
        "e": ["b"],
        "f": [None],
        "g": ["c", "b"],
        "h": ["a", "b"],
        "i": ["x"],
    }
    cases: list[tuple[dict[str, list[str | None]], tuple[str, ...], str]] = [
        ({"d": [None]}, (), r"--label topic: no sentence .*\(1 sentence\)"),
        ({"d": [None, "", " "]}, (), r"--label topic: no sentence .*\(3 sentences\)"),
        ({"d": ["a"], "e": ["a"]}, (), r"--label topic: 1 label \(a\) with at least 2 documents among 2 documents"),
        (
            mixed,
            ("x",),
            r"--label topic: 0 labels \(none\) .*among 2 documents; left out: several labels 2, label dropped 1, .*, "
            r"sentences without a label 1; a classifier needs two labels",
        ),
        ({"d": ["a", None, "b"], "e": ["b", "a"]}, (), r"--label topic: all 2 documents .*, such as e \(b, a\)"),
        ({"d": ["a"], "e": ["a"]}, ("b",), "--drop-label b: no document has this value of topic; it has a"),
    ]
    for labels, dropped, message in cases:
        with pytest.raises(InputError, match=message):
            choose_documents(gathered(labels), "topic", dropped, 2, None, 0)


@given(st.lists(st.sampled_from("abc"), min_size=1), st.floats(0.05, 0.95), st.integers(0, 5))
def test_every_label_has_its_share_on_either_side(labels: list[str], share: float, seed: int) -> None:
    sides = split_sides(labels, share, seed)
    assert sides == split_sides(labels, share, seed)
    tested = Counter(label for label, side in zip(labels, sides, strict=True) if side == TEST)
    for label, n in Counter(labels).items():
        if n == 1:
            assert tested[label] == 0
        else:
            assert 1 <= tested[label] <= n - 1
            assert abs(tested[label] - share * n) <= 1


def test_documents_are_joined_split_and_told_apart_by_side() -> None:
    documents = [("set", f"d{i}") for i in range(12)]
    labels = {key: "ab"[i % 2] for i, key in enumerate(documents)}
    sentences = pa.table(
        {
            "sent_id": list(range(24)),
            "text": [f"{word} {i}" for word in ("last", "first") for i in range(11)] + ["LAST 0", "FIRST  0"],
            "dataset": ["set"] * 24,
            "doc_id": [key[1] for key in (*documents[:11], *documents[:11], documents[11], documents[11])],
            "sent_in_doc": [1] * 11 + [0] * 11 + [1, 0],
        }
    )
    texts = join_sentences(sentences)
    assert texts["set", "d3"] == "first 3 last 3"
    found, placed = split_documents(texts, labels, 0.2, 0, None)
    assert set(placed) == set(documents[:11]), "the last one has the text of the first"
    assert found["label"].to_pylist() == found["taught"].to_pylist() == [labels[key] for key in placed]
    assert found["side"].to_pylist() == [side for side, _ in placed.values()]
    train, test = (side_rows(sentences, labels, placed, side) for side in (TRAIN, TEST))
    assert train.column_names == [*test.column_names, "trained_as"]
    assert sorted([*train["sent_id"].to_pylist(), *test["sent_id"].to_pylist()]) == list(range(22))
    shuffled, _ = split_documents(texts, labels, 0.2, 0, 1)
    assert shuffled["label"].equals(found["label"])
    assert Counter(shuffled["taught"].to_pylist()) == Counter(found["taught"].to_pylist())
    assert not shuffled["taught"].equals(found["taught"])
    copies = {("set", f"d{i}"): "the same" for i in range(6)}
    with pytest.raises(InputError, match="another's text, 1 training documents with 1 label and"):
        split_documents(copies, {key: "ab"[i % 2] for i, key in enumerate(copies)}, 0.2, 0, None)
