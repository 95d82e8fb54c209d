import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ops.respond.corpus import Corpus
from ops.respond.measure import text_tails
from ops.respond.tails import OUTER
from tests.unit.respond.made_corpus import brute_tails, made_corpus


def made(seed: int, sentences: int, units: int, sparse: bool) -> np.ndarray:
    values = np.random.default_rng(seed).normal(size=(sentences, units)).astype(np.float32)
    values[:, 0] = np.round(values[:, 0])  # ties
    values[:, -1] *= np.float32(1e-4)
    return np.maximum(values - 0.8, 0) if sparse else values


def bin_shares(corpus: Corpus, values: np.ndarray) -> np.ndarray:
    """Twice the share of the corpus in the bin of each value, and in one sentence more."""
    rows = corpus.tables.read("neurons", None, ["histogram_edges", "histogram_counts"]).to_pylist()
    bins = zip(rows, values.T, strict=True)
    counts = [np.array(row["histogram_counts"])[np.searchsorted(row["histogram_edges"], x, "right")] for row, x in bins]
    return np.asarray(2 * (np.stack(counts, 1) + 1) / corpus.distributions.sentences)


@given(st.integers(0, 1_000), st.booleans(), st.sampled_from([5, 60, 400]), st.sampled_from([1, 7, 40]))
@example(184, False, 5, 1)  # four of five sentences share the largest activation, which is an edge of the histogram
def test_tails_are_those_of_the_corpus_within_a_bin_and_exact_among_winners(
    seed: int, sparse: bool, sentences: int, k: int
) -> None:
    values = made(seed, sentences, 6, sparse)
    corpus = made_corpus(values, np.full(sentences, 9), np.arange(sentences), k=k, widths=(2, 4), sparse=sparse)
    new = made(seed + 1, 4, 6, sparse) * np.float32(1.5)
    own = [-1, -1, -1, -1, 0, sentences - 1]
    asked = np.concatenate([new, values[[0, sentences - 1]]])
    tails, ranks = text_tails(corpus, asked, own)
    silent = np.broadcast_to(corpus.distributions.silent, tails.shape)
    expected = np.where(silent, np.nan, brute_tails(values, asked, np.array(own) >= 0, sparse))
    assert np.array_equal(np.isnan(tails), np.isnan(expected))
    known = ~np.isnan(tails)
    assert (np.abs(np.abs(tails) - np.abs(expected)) <= bin_shares(corpus, asked) + 1e-9)[known].all()
    for text, unit in np.argwhere(ranks > 0):
        others = np.delete(values[:, unit], [own[text]] if own[text] >= 0 else [])
        sign = 1 if tails[text, unit] > 0 else -1
        assert ranks[text, unit] == 1 + (sign * others > sign * asked[text, unit]).sum()
        assert ranks[text, unit] <= k
        last = corpus.distributions.thresholds["top" if sign > 0 else "bottom"][unit]
        if asked[text, unit] != last:  # others may be as far out as the last winner
            assert tails[text, unit] == pytest.approx(expected[text, unit])
    beyond = np.abs(expected) < 2 * k / (sentences + 1) if not sparse else expected < k / (sentences + 1)
    assert (ranks > 0)[beyond & known].all(), "whatever is among the winners has a rank"


@given(st.integers(0, 1_000), st.booleans(), st.sampled_from([40, 300]))
def test_sentences_of_the_corpus_are_counted_as_if_they_were_texts(seed: int, sparse: bool, sentences: int) -> None:
    values = made(seed, sentences, 30, sparse)
    corpus = made_corpus(values, np.full(sentences, 9), np.arange(sentences), k=1, widths=(25, 5), sparse=sparse)
    tails = corpus.distributions.tails_of_sentences(values, slice(None))
    expected = brute_tails(values, values, np.ones(sentences, bool), sparse)
    assert np.array_equal(np.isnan(tails), np.isnan(expected))
    near = np.abs(np.abs(tails) - np.abs(expected)) <= bin_shares(corpus, values) + 1e-9
    assert near[~np.isnan(tails)].all()
    assert np.array_equal(corpus.outers, (np.abs(tails) <= OUTER).sum(1))


def test_silent_units_and_inactive_features_have_no_tail() -> None:
    values = made(3, 200, 4, False)
    values[:, 2] = np.float32(0.25) + values[:, 2] * np.float32(1e-9)
    corpus = made_corpus(values, np.full(200, 9), np.arange(200))
    tails, ranks = text_tails(corpus, values[:3] + 1, [-1] * 3)
    assert np.isnan(tails).tolist() == [[False, False, True, False]] * 3
    assert (ranks[:, 2] == 0).all()
    features = made_corpus(made(3, 200, 4, True), np.full(200, 9), np.arange(200), sparse=True)
    asked = np.array([[0, 0.5, 0, 2]], np.float32)  # the last one is active nowhere in the corpus
    assert np.isnan(text_tails(features, asked, [-1])[0]).tolist() == [[True, False, True, True]]
