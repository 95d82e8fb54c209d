import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.sentences.folds import FOLDS
from ops.statistics.average_precision import PREVALENCE, Precision, Ranked, average_precision

PARTS, DOCUMENTS = 2, 24


def drawn(seed: int, sentences: int) -> Ranked:
    """Sentences of two parts; a document is in one fold of one part."""
    rng = np.random.default_rng([seed, sentences])
    document = rng.integers(0, DOCUMENTS, sentences)
    return Ranked(document % PARTS * FOLDS + document // PARTS % 3, document, rng.integers(-3, 3, sentences) * 10)


def repeated(ranked: Ranked, times: np.ndarray) -> Ranked:
    """The same sentences, each as often as its document is to be."""
    rows = np.repeat(np.arange(len(ranked.document)), times[ranked.document])
    return Ranked(ranked.fold[rows], ranked.document[rows], ranked.scores[rows])


def precision(winners: Ranked, others: Ranked) -> Precision:
    return average_precision(winners, others, PARTS, FOLDS, DOCUMENTS)


@given(st.integers(0, 200), st.integers(1, 40), st.integers(1, 200))
def test_it_is_the_mean_over_folds_of_that_of_scikit_learn(seed: int, winners: int, others: int) -> None:
    from sklearn.metrics import average_precision_score

    own, rest = drawn(seed, winners), drawn(seed + 1, others)
    found = precision(own, rest).value
    for part in range(PARTS):
        both = [some.fold // FOLDS == part for some in (own, rest)]
        each = (1 - PREVALENCE) / PREVALENCE * both[0].sum() / max(both[1].sum(), 1)
        total = counted = 0.0
        for fold in range(PARTS * FOLDS):
            hits, misses = own.scores[(own.fold == fold) & both[0]], rest.scores[(rest.fold == fold) & both[1]]
            if len(hits) and len(misses):
                labels, weights = (
                    np.repeat([1, 0], [len(hits), len(misses)]),
                    np.repeat([1, each], [len(hits), len(misses)]),
                )
                scores = np.concatenate([hits, misses])
                total += len(hits) * average_precision_score(labels, scores, sample_weight=weights)
                counted += len(hits)
        assert found[part] == pytest.approx(total / counted if counted else np.nan, nan_ok=True)


@pytest.mark.parametrize("seed", range(3))
def test_effects_are_what_one_more_copy_of_a_document_changes(seed: int) -> None:
    winners, others = drawn(seed, 40), drawn(seed + 9, 300)
    found, copies = precision(winners, others), np.full(DOCUMENTS, 200)
    for part in range(PARTS):
        assert found.effects[part::PARTS].sum() == pytest.approx(0, abs=1e-12)
    for document in range(0, DOCUMENTS, 5):
        times = copies + (np.arange(DOCUMENTS) == document)
        changed = precision(repeated(winners, times), repeated(others, times)).value - found.value
        assert 200 * changed[document % PARTS] == pytest.approx(found.effects[document], rel=0.05, abs=1e-5)


def test_one_winner_in_a_hundred_of_ties_is_found_by_chance() -> None:
    fold = np.zeros(50, np.int64)
    found = precision(Ranked(fold[:5], fold[:5], fold[:5]), Ranked(fold, fold, fold))
    assert found.value[0] == pytest.approx(PREVALENCE)
    assert np.isnan(found.value[1])
