from typing import Any

import numpy as np

from ops.meaning.figures import PAIRS, analogy_figures, known_pairs, offset_figures
from ops.meaning.offsets import Analogies, AnalogyBootstrap, Space, judge
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
    found |= analogy_figures(rows_of(spaces, asked), ["counts", "layer:1"])
    assert list(found) == ["offsets_people", "analogy_accuracy"]
    for figure in found.values():
        check_print(figure)
