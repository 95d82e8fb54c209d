import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ops.patterns.subtree_patterns import Subtrees
from ops.penn import read_labels_and_sizes
from tests.unit.patterns.mined import to_lists


@st.composite
def subtrees(draw):
    depths = [0]
    for _ in range(draw(st.integers(0, 6))):
        depths.append(draw(st.integers(1, depths[-1] + 1)))
    return [(depth, draw(st.integers(0, 3))) for depth in depths]


@given(st.lists(subtrees(), max_size=6))
def test_every_form_leads_back(rows):
    found = Subtrees.from_lists(rows)
    assert to_lists(found) == rows
    assert len(found) == len(rows)
    again = Subtrees.from_extensions(found.extensions(4), 4)
    assert to_lists(again) == rows
    assert (again.label.dtype, again.depth.dtype) == (np.int32, np.int32)
    names = ["A", "B", "C", "D"]
    sizes = found.as_forest().size.tolist()
    # A bracketed leaf needs a word to be read.
    texts = [text.replace(")", " x)", 1) if text.count("(") == 1 else text for text in found.strings(names)]
    for row, text in zip(rows, texts, strict=True):
        filled = text
        for name in names:
            filled = filled.replace(f"({name})", f"({name} x)")
        labels, below = read_labels_and_sizes(filled)
        assert labels == [names[label] for _, label in row]
        assert below == [sizes.pop(0) for _ in row]


@given(st.lists(subtrees(), max_size=4))
def test_rows_can_be_taken(rows):
    assert to_lists(Subtrees.from_lists(rows).take(np.arange(len(rows))[::-1])) == rows[::-1]


def test_a_subtree_reads_as_it_is_printed():
    found = Subtrees.from_lists([[(0, 0), (1, 1), (2, 2), (2, 0), (1, 2)], [(0, 1)]])
    assert found.strings(["NP", "PP", "IN"]) == ["(NP (PP (IN) (NP)) (IN))", "(PP)"]
