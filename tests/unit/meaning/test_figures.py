from typing import Any

import numpy as np

from ops.meaning.analogies import Analogies
from ops.meaning.analogy_intervals import AnalogyBootstrap
from ops.meaning.figures import analogy_figures
from ops.meaning.map_figures import PAIRS, known_pairs, offset_figures, principal_plane
from ops.meaning.offsets import Space, judge
from tests.unit.figure_letters import check_print

RNG = np.random.default_rng(0)


def a_space(name: str) -> Space:
    words = [w for pair in PAIRS["people"][:4] for w in pair]
    return Space(name, words, RNG.normal(size=(len(words), 5)).astype(np.float32))


def rows_of(spaces: list[Space], analogies: Analogies) -> list[dict[str, Any]]:
    return AnalogyBootstrap([judge(space, analogies, "keep") for space in spaces], analogies, "keep", 0).rows()


def test_a_figure_without_pairs_is_left_out() -> None:
    spaces = [a_space("counts"), a_space("layer:1")]
    asked = Analogies({"x": [("man", "woman", "king", "queen")], "none": [("a", "b", "c", "d")]})
    shown = {name: [(s.name, *known_pairs(s, name, "keep")) for s in spaces] for name in PAIRS}
    found = offset_figures(shown, "some-model")
    found |= analogy_figures(rows_of(spaces, asked), ["counts", "layer:1"], "some-model")
    assert list(found) == ["offsets_people", "analogy_accuracy"]
    for figure in found.values():
        check_print(figure, "some-model")


def test_the_plane_holds_most_of_what_differs() -> None:
    vectors = np.hstack([RNG.normal(size=(20, 2)) * 5, RNG.normal(size=(20, 3)) * 0.01, np.full((20, 1), 200.0)])
    plane = principal_plane(vectors)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    distances = np.linalg.norm(unit[:, None] - unit, axis=2)
    np.testing.assert_allclose(np.linalg.norm(plane[:, None] - plane, axis=2), distances, atol=2e-3)
    assert distances.max() > 0.05
    assert principal_plane(vectors[:2]).shape == (2, 2)
