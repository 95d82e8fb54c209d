"""The rows of peaks/ against counting by hand."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.schema import schema
from ops.statistics.association import measures
from ops.tokens.peaks import peak_rows
from ops.topk.neurons import POLES, Neurons

NEURONS = Neurons((1, 2))
SENTENCES = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.lists(st.sampled_from(["the", "The", "b\x00", "b", "é"]), min_size=1, max_size=5),
        st.integers(-1, 4),
        st.booleans(),
    ),
    max_size=25,
).map(lambda found: sorted(found, key=lambda s: s[0]))


@given(SENTENCES)
def test_it_is_what_counting_gives(found: list[tuple[int, list[str], int, bool]]) -> None:
    sets = np.array([s[0] for s in found], np.int64)
    peak = np.array([min(s[2], len(s[1]) - 1) for s in found], np.int32)
    words = pa.array([s[1] for s in found], pa.list_(pa.string()))
    tags = pa.array([[w.upper() for w in s[1]] if s[3] else None for s in found], pa.list_(pa.string()))
    table = peak_rows(NEURONS, sets, words, tags, peak)
    assert table.schema.equals(schema("peaks"))
    rows = table.to_pylist()
    expected = {}
    for name in ("peak_tag", "peak_word"):
        for own in sorted(set(sets.tolist())):
            counts, among, n = Counter[str](), Counter[str](), 0
            for (which, its, _, tagged), place in zip(found, peak.tolist(), strict=True):
                if which == own and place >= 0 and (tagged or name == "peak_word"):
                    values = its if name == "peak_word" else [w.upper() for w in its]
                    counts[values[place]] += 1
                    among.update(values)
                    n += 1
            for value, count in counts.items():
                expected[name, own, value] = (count, n, measures([count], n, [among[value]], among.total()))
    neurons = [(1, 0), (2, 0), (2, 1)]
    for row in rows:
        number = 2 * neurons.index((row["layer"], row["unit"])) + POLES.index(row["pole"])
        count, n, measured = expected.pop((row["property"], number, row["value"]))
        assert (row["count"], row["n"]) == (count, n)
        for column in ("share", "baseline_share", "lift", "g2"):
            assert row[column] == pytest.approx(float(getattr(measured, column)[0]), rel=1e-5, abs=1e-6)
    assert not expected
    order = [(r["layer"], r["unit"], r["pole"], r["property"], r["rank"]) for r in rows]
    assert order == sorted(order)
    assert all(rank == 1 or order[i - 1][4] == rank - 1 for i, (*_, rank) in enumerate(order))
    by_rank = [(order[i][:4], -r["g2"]) for i, r in enumerate(rows)]
    assert by_rank == sorted(by_rank)


def test_a_pipeline_without_tags_gives_words_alone() -> None:
    words = pa.array([["a", "b"], ["a"]])
    tags = pa.nulls(2, pa.list_(pa.string()))
    rows = peak_rows(NEURONS, np.array([3, 3]), words, tags, np.array([1, 0], np.int32)).to_pylist()
    assert [(r["property"], r["value"], r["count"], r["baseline_share"]) for r in rows] == [
        ("peak_word", "b", 1, pytest.approx(1 / 3)),
        ("peak_word", "a", 1, pytest.approx(2 / 3)),
    ]
