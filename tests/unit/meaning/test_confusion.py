import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ops.errors import InputError
from ops.meaning.confusion import (
    DEFAULT,
    PENALTIES,
    Examples,
    document_number,
    find_occurrences,
    from_which_layer,
    is_tested,
    measure_set,
    priority,
    read_sets,
    words_around,
)
from ops.meaning.figures import confusion_figure

RNG = np.random.default_rng(3)


def examples(
    n: int = 900, layers: int = 3, width: int = 8, told: float = 0.9, states: int | None = None, share: float = 0.4
) -> Examples:
    """Examples of two words. A nearby word shows which with probability `told`; all layers but the first show it."""
    label = (RNG.random(n) < share).astype(np.int64)
    right = RNG.random(n) < told
    words = [
        [f"sign{y if ok else 1 - y}", f"noise{k}"]
        for y, ok, k in zip(label, right, RNG.integers(0, 30, n), strict=True)
    ]
    given = RNG.normal(size=(states or n, layers, width)).astype(np.float32)
    given[:, 1:, 0] += 8.0 * label[: states or n, None]
    has_state = np.arange(n) < (states or n)
    return Examples(label, words, given, has_state, RNG.integers(0, 2**64, n, np.uint64))


def by_features(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["features"]: row for row in rows}  # the largest n stays


def test_classifiers_learn_what_is_there_and_the_shuffled_one_nothing() -> None:
    rows = measure_set("a b", examples(), 0)
    last = by_features(rows)
    assert last["words"]["accuracy"] > 0.8
    assert last["layer:2"]["accuracy"] > 0.97 < last["layer:3"]["accuracy"]
    assert last["layer:1"]["accuracy"] < 0.7
    assert from_which_layer(rows, 3) == 2
    own = last["majority"]
    assert own["accuracy"] == pytest.approx(0.6, abs=0.1)
    assert own["low"] < own["accuracy"] < own["high"]
    assert own["balanced_accuracy"] == 0.5
    assert last["words"]["balanced_accuracy"] > 0.8
    assert own["c"] is None
    assert {row["c"] for row in rows if row["features"] != "majority"} <= {*PENALTIES}
    assert last["shuffled"]["c"] == last["words"]["c"]


def test_the_shuffled_control_is_at_chance() -> None:
    """With two equally frequent words, any uninformed answers are right half the time."""
    held = []
    for seed in range(5):
        rows = by_features(measure_set("a b", examples(400, layers=1, told=0.95, share=0.5), seed))
        held.append(rows["shuffled"]["low"] < 0.5 < rows["shuffled"]["high"])
        assert rows["words"]["low"] > 0.7
    assert sum(held) >= 4


def test_accuracy_grows_with_the_examples_and_all_are_tested_on_the_same() -> None:
    rows = measure_set("a b", examples(2_500, told=1.0, states=1_000), 0)
    assert len({row["n_test"] for row in rows}) == 1
    words = [(r["n"], r["accuracy"]) for r in rows if r["features"] == "words"]
    assert [n for n, _ in words][:3] == [100, 300, 1_000]
    assert words[-1][0] > 1_900
    assert words[-1][1] >= words[0][1]
    assert max(r["n"] for r in rows if r["features"] == "layer:1") < 1_000
    alone = examples(900)._replace(label=np.zeros(900, np.int64))
    for few in (examples(30), alone):
        assert measure_set("a b", few, 0) == []


def test_classifiers_that_do_not_converge_are_counted_and_other_warnings_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = LogisticRegression.fit

    def warning_fit(self: LogisticRegression, *given: Any) -> LogisticRegression:
        warnings.warn("as planned", FutureWarning, stacklevel=2)
        return fit(self, *given)

    monkeypatch.setattr(LogisticRegression, "fit", warning_fit)
    with pytest.warns(FutureWarning, match="as planned"):
        assert all(row["converged"] for row in measure_set("a b", examples(), 0))
    monkeypatch.undo()
    monkeypatch.setattr("ops.meaning.confusion._MOST_STEPS", 1)
    rows = measure_set("a b", examples(), 0)
    assert [row["converged"] for row in rows] == [row["features"] == "majority" for row in rows]


def test_no_layer_beats_words_where_the_last_does_not_or_words_win_by_more_examples_alone() -> None:
    rows = [{"features": f, "accuracy": a, "n": 9} for f, a in (("words", 0.8), ("layer:1", 0.9), ("layer:2", 0.7))]
    assert from_which_layer(rows, 2) is None
    assert from_which_layer(rows[:2], 1) == 1
    known = (("words", 100, 0.7), ("words", 900, 0.9), ("layer:1", 100, 0.8), ("layer:1", 300, 0.85))
    rows = [{"features": f, "accuracy": a, "n": n} for f, n, a in known]
    assert from_which_layer(rows, 1) is None
    assert from_which_layer(rows, 1, alike=True) == 1


def test_words_are_found_whatever_their_case_and_with_curly_apostrophes() -> None:
    places = {"its": (0, 0), "it's": (0, 1), "to": (1, 0)}
    text = "It\u2019s TO its; into"
    found = [(number, label, text[start:stop]) for number, label, start, stop in find_occurrences(text, places)]
    assert found == [(0, 1, "It\u2019s"), (1, 0, "TO"), (0, 0, "its")]
    assert words_around("a b to c", 4, 6, 1) == ["b", "c", "-1 b", "+1 c"], "the blanked word is no feature"
    assert words_around("to", 0, 2, 5) == []


def test_a_fifth_of_the_documents_is_held_out_and_the_order_is_seeded() -> None:
    numbers = [np.array([document_number("news", f"d{i}", seed) for i in range(4_000)], np.uint64) for seed in (0, 1)]
    assert is_tested(numbers[0]).mean() == pytest.approx(0.2, abs=0.02)
    assert (is_tested(numbers[0]) != is_tested(numbers[1])).any()
    ids, start = np.arange(50), np.zeros(50, np.int64)
    assert len(set(priority(ids, start, 0).tolist())) == 50
    assert (priority(ids, start, 0) != priority(ids, start, 1)).all()


def test_what_is_no_set_is_refused() -> None:
    assert ("to", "two", "too") in read_sets(DEFAULT)
    for text in ("to", "to two,", "to two, to too", "to two-", ","):
        with pytest.raises(InputError, match="--confusion"):
            read_sets(text)


def test_the_figure_shows_every_set() -> None:
    rows = measure_set("a b", examples(300), 0) + measure_set("c d", examples(300), 1)
    panels = confusion_figure(rows).axes
    assert [panel.get_title()[:5] for panel in panels] == ["a / b", "c / d"]
