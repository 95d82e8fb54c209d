"""The rows of peaks/ against counting by hand."""

from collections import Counter, defaultdict
from math import inf

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.schema import schema
from ops.statistics.association import signed_g2
from ops.statistics.false_discovery import q_values
from ops.statistics.poisson_binomial import chance_of_hits
from ops.tokens.peaks import peak_rows
from ops.topk.neurons import POLES, Neurons

NEURONS = Neurons((1, 2))
SENTENCES = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.lists(st.sampled_from(["the", "The", "b\x00", "b", "é"]), min_size=1, max_size=5),
        st.integers(-1, 4),
        st.booleans(),
        st.integers(-2, 2),
    ),
    max_size=25,
).map(lambda found: sorted(found, key=lambda s: s[0]))


def design_effect(peaks: list[tuple[int, float, bool]]) -> float:
    """Return a design effect by its definition, of winners' document, chance and whether the peak is there."""
    residuals, alone = defaultdict(float), 0.0
    for document, chance, hit in peaks:
        residuals[document] += hit - chance
        alone += (hit - chance) ** 2
    n, documents = len(peaks), len(residuals)
    more = sum(hit for *_, hit in peaks) > sum(chance for _, chance, _ in peaks)
    if documents < 2 or (len({d for d, _, hit in peaks if hit}) < 2 and documents < n and more):
        return inf
    ratio = sum(r * r for r in residuals.values()) / alone if alone else 1.0
    return max(1.0, ratio * documents / (documents - 1) * (n - 1) / n)


@given(SENTENCES)
def test_it_is_what_counting_gives(found: list[tuple[int, list[str], int, bool, int]]) -> None:
    sets = np.array([s[0] for s in found], np.int64)
    peak = np.array([min(s[2], len(s[1]) - 1) for s in found], np.int32)
    words = pa.array([s[1] for s in found], pa.list_(pa.string()))
    tags = pa.array([[w.upper() for w in s[1]] if s[3] else None for s in found], pa.list_(pa.string()))
    documents = np.array([s[4] for s in found], np.int64) * 2**60
    winners = {"set": sets, "words": words, "tags": tags, "peak": peak, "document": documents}
    table = peak_rows(NEURONS, pa.table(winners))
    assert table.schema.equals(schema("peaks"))
    rows = table.to_pylist()
    expected, families = {}, {}
    for name in ("peak_tag", "peak_word"):
        for own in sorted(set(sets.tolist())):
            winners = []
            for (which, its, _, tagged, document), place in zip(found, peak.tolist(), strict=True):
                if which == own and place >= 0 and (tagged or name == "peak_word"):
                    winners.append((document, its if name == "peak_word" else [w.upper() for w in its], place))
            counts, n_words = Counter(its[place] for _, its, place in winners), sum(len(its) for _, its, _ in winners)
            p = {}
            for value, count in counts.items():
                peaks = [(d, its.count(value) / len(its), its[place] == value) for d, its, place in winners]
                share, effect = sum(chance for _, chance, _ in peaks) / len(winners), design_effect(peaks)
                there = np.array([chance for _, chance, _ in peaks if chance])
                p[value] = chance_of_hits(there, np.array([0, len(there)]), np.array([count]), np.array([effect]))[0]
                g2 = signed_g2(count, len(winners), share * n_words, n_words)
                lift = (count + 0.5) / (len(winners) + 1) / ((share * n_words + 0.5) / (n_words + 1))
                expected[name, own, value] = (count, len(winners), share, lift, g2, effect, p[value])
            families[name, own] = dict(zip(p, q_values(list(p.values())), strict=True))
    neurons = [(1, 0), (2, 0), (2, 1)]
    for row in rows:
        number = 2 * neurons.index((row["layer"], row["unit"])) + POLES.index(row["pole"])
        count, n, share, lift, g2, effect, p_value = expected.pop((row["property"], number, row["value"]))
        assert (row["count"], row["n"]) == (count, n)
        assert row["share"] == pytest.approx(count / n)
        assert row["baseline_share"] == pytest.approx(share)
        assert row["lift"] == pytest.approx(lift, rel=1e-5)
        assert row["g2"] == pytest.approx(g2, rel=1e-5, abs=1e-6)
        assert row["design_effect"] == (None if effect == inf else pytest.approx(effect, rel=1e-6))
        assert row["p_value"] == pytest.approx(p_value, rel=1e-6, abs=1e-37)
        assert row["q_value"] == pytest.approx(families[row["property"], number][row["value"]], rel=1e-6)
    assert not expected
    order = [(r["layer"], r["unit"], r["pole"], r["property"], r["rank"]) for r in rows]
    assert order == sorted(order)
    assert all(rank == 1 or order[i - 1][4] == rank - 1 for i, (*_, rank) in enumerate(order))
    by_rank = [(order[i][:4], -r["g2"]) for i, r in enumerate(rows)]
    assert by_rank == sorted(by_rank)


def test_peaks_at_any_word_alike_show_something_at_the_stated_rate() -> None:
    """Return sentences of a few recurring words, in documents with one subject each."""
    random, sets = np.random.default_rng(6), 300
    vocabulary = np.array([f"w{i}" for i in range(40)])
    share = 1 / np.arange(1, 41)
    lists, peak, documents, own = [], [], [], []
    for number in range(sets):
        for document in random.integers(0, 12, 20).tolist():
            words = random.choice(vocabulary, random.integers(3, 15), p=share / share.sum()).tolist()
            lists.append(words)
            peak.append(random.integers(len(words)))
            documents.append(number * 20 + document)
            own.append(number)
    tags = pa.nulls(len(lists), pa.list_(pa.string()))
    winners = {"set": own, "words": lists, "tags": tags, "peak": peak, "document": documents}
    table = peak_rows(Neurons((sets,)), pa.table(winners))
    low = {(r["unit"], r["pole"]) for r in table.to_pylist() if r["q_value"] < 0.05}
    assert len(low) / sets <= 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / sets)
