import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.respond.measure import text_tails
from ops.respond.tails import MIDDLE, signed_tails
from tests.unit.respond.made_corpus import brute_tails, made_corpus


def made(seed: int, sentences: int, units: int, sparse: bool) -> np.ndarray:
    values = np.random.default_rng(seed).normal(size=(sentences, units)).astype(np.float32)
    values[:, 0] = np.round(values[:, 0])  # ties
    values[:, -1] *= np.float32(1e-4)
    return np.maximum(values - 0.8, 0) if sparse else values


def bin_shares(corpus: object, values: np.ndarray) -> np.ndarray:
    """Twice the share of the corpus in the bin of each value, and in one sentence more."""
    known = corpus.distributions  # type: ignore[attr-defined]
    counts = known.above[:, :-1] - known.above[:, 1:]
    bins = np.array([np.searchsorted(own, column, "right") for own, column in zip(known.edges, values.T, strict=True)])
    return 2 * (np.take_along_axis(counts, bins, 1).T + 1) / known.sentences


@given(st.integers(0, 1_000), st.booleans(), st.sampled_from([5, 60, 400]), st.sampled_from([1, 7, 40]))
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
    values = made(seed, sentences, 9, sparse)
    corpus = made_corpus(values, np.full(sentences, 9), np.arange(sentences), k=1, sparse=sparse)
    known = corpus.distributions
    outers, smallest = np.zeros(sentences, np.int64), np.full((sentences, 4), np.inf)
    flags = [
        known.add_sentences(values[:, units], units, 0.05, outers, smallest) for units in (slice(0, 5), slice(5, 9))
    ]
    count = np.maximum(known.at_least(values, slice(None)), 1)
    tails = known.known(signed_tails(count - 1, sentences - count, sentences - 1, sparse), values, slice(None))
    assert np.array_equal(np.concatenate(flags, 1), np.where(np.abs(tails) <= 0.05, np.sign(tails), 0))
    assert np.array_equal(outers, (np.abs(tails) <= 0.05).sum(1))
    expected = np.sort(np.where(np.isnan(tails), np.inf, np.abs(tails)), 1)[:, :4]
    far = (expected <= MIDDLE).all(1)  # where the kept ones are in the middle, all units were looked at
    assert np.allclose(smallest[far], expected[far])
    assert np.allclose(smallest, expected)


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
