"""Which documents a classifier is trained and tested on."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.errors import InputError
from ops.finetune.documents import (
    TEST,
    LabelledDocuments,
    choose_documents,
    first_of_each_text,
    numbered,
    shuffle_labels,
    split_sides,
)


def gathered(labels: dict[str, list[str | None]]) -> LabelledDocuments:
    """Documents d0, d1, ... whose sentences have these labels, a sentence of each in turn."""
    found = LabelledDocuments()
    for place in range(max(map(len, labels.values()))):
        here = [(doc_id, own[place]) for doc_id, own in labels.items() if place < len(own)]
        found.add(["set"] * len(here), [doc_id for doc_id, _ in here], [label for _, label in here])
    return found


def test_documents_are_chosen_and_what_is_left_out_is_counted() -> None:
    found = gathered(
        {"a1": ["a", None, "a"], "a2": ["a"], "b1": ["b"], "b2": ["b", "b"], "both": ["a", "b"], "rare": ["c"]}
        | {"none": [None], "x1": ["x"], "x2": ["x"]}
    )
    choice = choose_documents(found, "topic", ("x",), 2, None, 0)
    assert choice.labels == {("set", d): d[0] for d in ("a1", "a2", "b1", "b2")}
    assert choice.left_out == {"several labels": 1, "label dropped": 2, "not sampled": 0, "label too rare": 1}
    assert found.without == 2
    some = choose_documents(gathered({f"{i}": ["ab"[i % 2]] for i in range(100)}), "topic", (), 2, 30, 0)
    assert len(some.labels) == 30
    assert some.left_out["not sampled"] == 70


@pytest.mark.parametrize(
    ("labels", "dropped", "message"),
    [
        ({"d": [None]}, (), "--label topic: no sentence of the corpus has a value"),
        ({"d": ["a"], "e": ["a"]}, (), r"--label topic: 1 label \(a\) with at least 2 documents among 2 documents"),
        ({"d": ["a"], "e": ["b"]}, (), r"--label topic: 0 labels \(none\)"),
        ({"d": ["a"], "e": ["a"]}, ("b",), "--drop-label b: no document has this value of topic; it has a"),
    ],
)
def test_labels_that_nothing_can_be_learnt_from_are_refused(
    labels: dict[str, list[str | None]], dropped: tuple[str, ...], message: str
) -> None:
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


def test_texts_that_differ_in_case_and_space_alone_are_one() -> None:
    assert first_of_each_text(["Profit rose", "profit  ROSE ", "Profit fell"]) == [True, False, True]


def test_shuffled_labels_are_the_same_ones_in_another_order() -> None:
    labels = list("aaaabbbbccccdddd")
    shuffled = shuffle_labels(labels, 0)
    assert sorted(shuffled) == sorted(labels)
    assert shuffled != labels
    assert shuffled != shuffle_labels(labels, 1)
    assert numbered(["b", "a"], ["a", "b"]).tolist() == [1, 0]
