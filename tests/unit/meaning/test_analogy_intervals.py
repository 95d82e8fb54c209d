from collections.abc import Iterator
from itertools import permutations

import numpy as np
import pytest

from ops.meaning.offsets import ALL, ANSWERS, Analogies, AnalogyBootstrap, Judged
from ops.statistics.interval import wilson

SAME = "keep"  # how words are folded
Question = tuple[str, str, str, str]
Pair = frozenset[str]


def all_of(name: str, pairs: int) -> list[Question]:
    """Every question that some pairs make, as in the packaged file."""
    words = [(f"{name}{i}", f"{name}{i}s") for i in range(pairs)]
    return [(*one, *other) for one, other in permutations(words, 2)]


def judge(space: str, analogies: Analogies, shift: float, seed: int, unknown: tuple[str, ...] = ()) -> Judged:
    """Answers in which some pairs are hard in every question that they are part of."""
    rng = np.random.default_rng(seed)
    known, right = {}, {}
    for category, questions in analogies.items():
        ease = {word: rng.normal() for question in questions for word in question[::2]}
        score = np.array([ease[a] + ease[c] for a, _, c, _ in questions]) + shift
        known[category] = np.array([not set(unknown) & {*question} for question in questions])
        answers = score[:, None] + rng.normal(size=(len(questions), len(ANSWERS))) > 0
        right[category] = answers & known[category][:, None]
    return Judged(space, known, right)


def resampled(
    analogies: Analogies, categories: list[str], column: int, judged: list[Judged], draws: int
) -> Iterator[list[float]]:
    """A separate bootstrap over pairs: lists of pairs are drawn, and their questions are counted one by one."""
    rng = np.random.default_rng(99)
    asked = {}
    for name in categories:
        both = np.logical_and.reduce([own.known[name] for own in judged])
        asked[name] = {
            (frozenset(q[:2]), frozenset(q[2:])): [own.right[name][i, column] for own in judged]
            for i, q in enumerate(analogies[name])
            if both[i]
        }
    pairs = {name: sorted({pair for key in own for pair in key}, key=sorted) for name, own in asked.items()}
    for _ in range(draws):
        right, n = np.zeros(len(judged)), 0
        for name in categories:
            drawn = [pairs[name][i] for i in rng.integers(0, len(pairs[name]), len(pairs[name]))]
            for i, j in permutations(range(len(drawn)), 2):
                answers = asked[name].get((drawn[i], drawn[j]))
                if answers is not None:
                    right += answers
                    n += 1
        yield list(right / n)


TWO = {"plural": all_of("p", 9), "other": all_of("o", 6)}


@pytest.mark.parametrize("category", ["plural", ALL])
def test_intervals_are_those_of_a_bootstrap_over_pairs(category: str) -> None:
    first, second = judge("counts", TWO, 0.5, 1, ("p3", "o5s")), judge("layer:1", TWO, 1.2, 2, ("p7",))
    categories = ["plural", "other"] if category == ALL else [category]
    column = ANSWERS.index(("add", True))
    rows = AnalogyBootstrap([first, second], TWO, SAME, 0).rows()
    for own in (first, second):
        drawn = [values[0] for values in resampled(TWO, categories, column, [own], 1_000)]
        row = next(
            r
            for r in rows
            if (r["space"], r["category"], r["rule"], r["excluded"]) == (own.space, category, "add", True)
        )
        right = np.concatenate([own.right[name][own.known[name], column] for name in categories])
        assert row["accuracy"] == pytest.approx(right.mean())
        assert (row["n_known"], row["correct"]) == (len(right), right.sum())
        np.testing.assert_allclose((row["low"], row["high"]), np.percentile(drawn, (2.5, 97.5)), atol=0.04)
        alone = wilson(row["accuracy"], row["n_known"])
        assert row["high"] - row["low"] > 1.3 * (alone.high - alone.low)
        assert row["pairs"] == (8 if category == "plural" else 13 if own is first else 14)
    both = [b - a for a, b in resampled(TWO, categories, column, [first, second], 1_000)]
    rows = AnalogyBootstrap([first, second], TWO, SAME, 0).differences()
    row = next(r for r in rows if (r["category"], r["rule"], r["excluded"]) == (category, "add", True))
    assert (row["space"], row["other"]) == ("layer:1", "counts")
    np.testing.assert_allclose((row["low"], row["high"]), np.percentile(both, (2.5, 97.5)), atol=0.04)
    assert row["low"] < row["difference"] < row["high"]


def test_spaces_are_compared_by_the_same_pairs() -> None:
    """Results that are equal in two spaces cannot make them differ."""
    first = judge("counts", TWO, 0.5, 1)
    second = first._replace(space="embedding")
    for row in AnalogyBootstrap([first, second], TWO, SAME, 0).differences():
        assert row["difference"] == 0
        assert row["low"] == -row["high"] < 0
    right = {name: own.copy() for name, own in first.right.items()}
    for name in right:
        right[name][:3] = True
    rows = {
        r["category"]: r for r in AnalogyBootstrap([first, Judged("e", first.known, right)], TWO, SAME, 0).differences()
    }
    own = {r["category"]: r for r in AnalogyBootstrap([first], TWO, SAME, 0).rows()}
    assert rows[ALL]["low"] >= 0
    assert rows[ALL]["high"] - rows[ALL]["low"] < (own[ALL]["high"] - own[ALL]["low"]) / 2


def test_every_space_and_every_pair_of_spaces_has_its_rows_once() -> None:
    names = ["counts", "embedding", "layer:1", "layer:2", "layer:10"]
    judged = [judge(name, TWO, 0.5, i) for i, name in enumerate(names)]
    rows = AnalogyBootstrap(judged, TWO, SAME, 0).rows()
    keys = [(r["space"], r["category"], r["rule"], r["excluded"]) for r in rows]
    assert len(set(keys)) == len(keys) == 5 * 3 * 6
    rows = AnalogyBootstrap(judged, TWO, SAME, 0).differences()
    keys = [(r["space"], r["other"], r["category"], r["rule"], r["excluded"]) for r in rows]
    assert len(set(keys)) == len(keys) == 10 * 3 * 6
    assert all(names.index(r["space"]) > names.index(r["other"]) for r in rows)


def test_a_pair_and_its_reverse_are_one_and_a_pair_with_itself_counts_as_often_as_it_is_drawn() -> None:
    questions = [("a", "b", "c", "d"), ("b", "a", "d", "c"), ("a", "b", "b", "a"), ("e", "f", "e", "f")]
    analogies = {"x": questions}
    right = np.repeat(np.array([True, True, False, True])[:, None], len(ANSWERS), 1)
    own = Judged("s", {"x": np.ones(4, bool)}, {"x": right})
    row = AnalogyBootstrap([own], analogies, SAME, 0).rows()[0]
    assert (row["pairs"], row["n_known"], row["correct"]) == (3, 4, 3)
    # If a:b alone is drawn, three times, only the question of the pair with itself remains.
    assert row["low"] == 0.0
    assert row["high"] == 1.0


def test_all_right_is_as_sure_as_the_pairs_are_many_and_nothing_known_has_no_interval() -> None:
    sure = {}
    for pairs in (3, 12):
        analogies = {"x": all_of("x", pairs)}
        n = pairs * (pairs - 1)
        own = Judged("s", {"x": np.ones(n, bool)}, {"x": np.ones((n, len(ANSWERS)), bool)})
        sure[pairs] = AnalogyBootstrap([own], analogies, SAME, 0).rows()[0]
        assert sure[pairs]["high"] == 1
    assert sure[3]["low"] < sure[12]["low"] == pytest.approx(0.757, abs=1e-3)
    none = judge("s", TWO, 0, 0, (*(f"p{i}" for i in range(9)), *(f"o{i}" for i in range(6))))
    for row in AnalogyBootstrap([none], TWO, SAME, 0).rows():
        assert (row["n_known"], row["pairs"], row["accuracy"], row["low"], row["high"]) == (0, 0, None, None, None)
    rows = AnalogyBootstrap([none, judge("t", TWO, 0, 0)], TWO, SAME, 0).differences()
    assert {(r["n_known"], r["difference"], r["low"], r["high"]) for r in rows} == {(0, None, None, None)}
