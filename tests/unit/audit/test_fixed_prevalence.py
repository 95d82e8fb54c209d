import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.audit.fixed_prevalence import PREVALENCE, average_precision

levels = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30)), min_size=1, max_size=6)


def by_hand(hits: list[int], others: list[int], prevalence: float) -> float:
    """The definition, over every threshold: recall gained there, times the precision of all that is called."""
    total = 0.0
    for level, own in enumerate(hits):
        right = prevalence * sum(hits[: level + 1]) / sum(hits)
        wrong = (1 - prevalence) * sum(others[: level + 1]) / sum(others)
        total += own / sum(hits) * (right / (right + wrong) if own else 0)
    return total


@given(levels, st.sampled_from([0.01, 0.3]))
def test_it_is_the_definition(counts: list[tuple[int, int]], prevalence: float) -> None:
    hits, others = (np.array(column, np.int32)[:, None] for column in zip(*counts, strict=True))
    (found,) = average_precision(hits, others, prevalence)
    if not hits.sum() or not others.sum():
        assert np.isnan(found)
    else:
        assert found == pytest.approx(by_hand(hits[:, 0].tolist(), others[:, 0].tolist(), prevalence))


def test_it_is_that_of_scikit_learn_with_weights() -> None:
    from sklearn.metrics import average_precision_score

    rng = np.random.default_rng(0)
    score, winner = rng.integers(0, 5, 200), rng.random(200) < 0.2
    weight = np.where(winner, PREVALENCE / winner.sum(), (1 - PREVALENCE) / (~winner).sum())
    counts = np.array([[np.sum((score == s) & own) for s in range(4, -1, -1)] for own in (winner, ~winner)], np.int32)
    found = average_precision(counts[0][:, None], counts[1][:, None])[0]
    assert found == pytest.approx(average_precision_score(winner, score, sample_weight=weight))
