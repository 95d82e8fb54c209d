from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ops.errors import InputError
from ops.meaning.offsets import (
    ANSWERS,
    RULES,
    Analogies,
    AnalogyBootstrap,
    Space,
    answers,
    judge,
    make_space,
    nearest,
    neighbour_rows,
    read_analogies,
)

RNG = np.random.default_rng(5)
Row = dict[str, Any]


def rows_of(space: Space, analogies: Analogies) -> list[Row]:
    return AnalogyBootstrap([judge(space, analogies, "keep")], analogies, "keep", 0).rows()


def random_space(words: int = 60, width: int = 9) -> Space:
    return Space("s", [f"w{i}" for i in range(words)], RNG.normal(size=(words, width)).astype(np.float32))


def cosine(x: np.ndarray, y: np.ndarray) -> float:
    return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))


def test_answers_equal_brute_force() -> None:
    space = random_space()
    questions = np.array([RNG.permutation(60)[:4] for _ in range(40)])
    found = answers(space, questions)
    wide = space.vectors.astype(np.float64)
    unit = [v / np.linalg.norm(v) for v in wide]
    for number, (a, b, c, _) in enumerate(questions):
        target = unit[b] - unit[a] + unit[c]
        shifted = {y: [(1 + cosine(wide[x], wide[y])) / 2 for x in range(60)] for y in (a, b, c)}
        score = [shifted[b][x] * shifted[c][x] / (shifted[a][x] + 0.001) for x in range(60)]
        for excluded in (True, False):
            left = [x for x in range(60) if not (excluded and x in (a, b, c))]
            add, mul, near = (found[number, ANSWERS.index((rule, excluded))] for rule in RULES)
            assert add == max(left, key=lambda x: cosine(unit[x], target))
            assert mul == max(left, key=lambda x: score[x])
            assert near == max(left, key=lambda x: cosine(wide[x], wide[c]))


def test_neighbours_equal_brute_force_and_ties_go_by_frequency() -> None:
    space = random_space(40, 5)
    space.vectors[11] = space.vectors[7]  # as near to all others as its double
    others, cosines, inner = nearest(space, 6)
    for i in range(40):
        order = sorted((x for x in range(40) if x != i), key=lambda x: (-round(cosine(*space.vectors[[i, x]]), 6), x))
        assert others[i].tolist() == order[:6]
        for place, x in enumerate(order[:6]):
            assert cosines[i, place] == pytest.approx(cosine(*space.vectors[[i, x]]), abs=1e-6)
            assert inner[i, place] == pytest.approx(float(space.vectors[i] @ space.vectors[x]), rel=1e-5, abs=1e-6)


def test_accuracy_counts_known_questions_and_its_interval_their_pairs() -> None:
    space = Space("s", ["man", "woman", "king", "queen"], np.array([[2, 1], [2, -1], [5, 3], [5, -2.4]], np.float32))
    analogies = {"x": [("man", "woman", "king", "queen")] * 3 + [("man", "woman", "king", "man")]}
    analogies["none"] = [("man", "woman", "boy", "girl")]
    rows = {(r["category"], r["rule"], r["excluded"]): r for r in rows_of(space, analogies)}
    row = rows["all", "add", True]
    assert (row["n"], row["n_known"], row["correct"]) == (5, 4, 3)
    assert row["pairs"] == 3
    assert row["low"] <= 0.75 <= row["high"]
    assert rows["all", "nearest_c", False]["correct"] == 0  # it answers with c itself
    assert rows["none", "add", True]["accuracy"] is None
    assert rows["none", "add", True]["n"] == 1


def test_the_packaged_questions_are_in_the_usual_format() -> None:
    found = read_analogies()
    assert set(found) == {"family", "capitals", "comparatives", "plurals", "past-tenses"}
    assert sum(map(len, found.values())) == 660
    assert all(len(set(rows)) == len(rows) for rows in found.values())
    assert ("man", "woman", "king", "queen") in found["family"]


def test_a_file_of_something_else_is_refused_by_line(tmp_path: Path) -> None:
    path = tmp_path / "q.txt"
    for text, said in (
        (": x\na b c d\na b c\n", "line 3 has 3 words, a question needs four: 'a b c'"),
        (":\na b c d\n", "line 1: '' is not the name of a category"),
        (": all\na b c d\n", "'all' is not the name of a category"),
        (": x\n\n", "holds no question"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=rf"q\.txt.*{said}"):
            read_analogies(str(path))
    with pytest.raises(InputError, match=r"--analogies no\.txt"):
        read_analogies("no.txt")


def test_the_rows_of_neighbours_are_all_there_are_in_the_order_of_the_table() -> None:
    columns = neighbour_rows(Space("s", ["b", "é", "a"], np.eye(3, dtype=np.float32) + 1), 9)
    assert columns["word"].tolist() == ["a", "a", "b", "b", "é", "é"]
    assert columns["rank"].tolist() == [1, 2] * 3
    assert columns["other"].tolist() == ["b", "é", "é", "a", "b", "a"]
    for words in (0, 1, 2):
        space = random_space(words)
        found = neighbour_rows(space, 3)
        assert len(found["other"]) == len(found["cosine"]) == words * max(words - 1, 0)
        rows = rows_of(space, {"c": [("w0", "w1", "w2", "w3")]})
        assert {(row["n"], row["n_known"], row["accuracy"]) for row in rows} == {(1, 0, None)}
    vectors = np.array([[1, 0], [0, 0], [np.nan, 1], [0, 2]], np.float32)
    assert make_space("s", list("abcd"), vectors).words == ["a", "d"], "words without a vector are not in the space"
