import math

import numpy as np
import pytest

from ops.arrays import Float64s
from ops.audit.fixed_prevalence import average_precision
from ops.audit.transfer import Precisions, significantly_above

DRAWS = 200


def precisions(own: list[list[float]], random: list[list[float]], spread: float = 0.0, group: int = 0) -> Precisions:
    """Precisions with independent random noise in every bootstrap sample."""
    rng = np.random.default_rng(0)
    values = [np.repeat(np.array(table, float)[:, :, None], 1 + DRAWS, 2) for table in (own, random)]
    for table in values:
        table[:, :, 1:] += spread * rng.standard_normal(table[:, :, 1:].shape)
    parts = len(own)
    groups = np.arange(parts, dtype=np.int32) // group if group else np.zeros(parts, np.int32)
    return Precisions(values[0], values[1], np.full(parts, 50), groups)


def test_transfer_is_a_ratio_of_sums_over_all_pairs() -> None:
    own = [[0.5, 0.2, 0.1], [0.3, 0.7, 0.1], [0.1, 0.1, 0.15]]
    random = [[0.1, 0.1, 0.1], [0.1, 0.2, 0.05], [0.05, 0.1, 0.1]]
    gain = np.array(own) - np.array(random)
    above = sum(gain[f, t] for f in range(3) for t in range(3) if f != t)
    below = sum(gain[t, t] for f in range(3) for t in range(3) if f != t)
    found = precisions(own, random, 0.001)
    overall = found.transfer(found.pairs)
    assert overall.value == pytest.approx(above / below)
    assert overall.low < overall.value < overall.high
    for to, one in enumerate(found.into()):
        others = [f for f in range(3) if f != to]
        assert one.value == pytest.approx(sum(gain[f, to] for f in others) / (2 * gain[to, to]))


def test_where_the_own_card_gains_nothing_for_sure_there_is_nothing_to_be_transferred() -> None:
    found = precisions([[0.5, 0.3], [0.3, 0.11]], [[0.1, 0.1], [0.1, 0.1]], 0.05)
    first, second = found.into()
    assert first.value == pytest.approx(0.5)
    assert math.isnan(second.value)
    assert math.isnan(second.low)
    assert found.beats_random().tolist() == [True, False]
    alone = precisions([[0.5]], [[0.1]])
    assert math.isnan(alone.transfer(alone.pairs).value)


def test_only_pairs_of_one_group_count_and_undefined_ones_do_not() -> None:
    own = np.full((4, 4), 0.3)
    np.fill_diagonal(own, 0.6)
    own[:, 3] = math.nan
    found = precisions(own.tolist(), np.full((4, 4), 0.1).tolist(), 0.001, group=2)
    assert np.argwhere(found.pairs).tolist() == [[0, 1], [1, 0], [3, 2]]
    assert found.transfer(found.pairs).value == pytest.approx(0.4)


def test_findings_of_nothing_are_rare() -> None:
    rng = np.random.default_rng(1)
    any_found = [significantly_above(rng.standard_normal(6), np.ones(6)).any() for _ in range(4_000)]
    # Half of the 5 % that differ from 0 are above it.
    assert np.mean(any_found) == pytest.approx(0.025, abs=0.01)
    assert not significantly_above(np.array([0.0, -1.0]), np.zeros(2)).any()
    assert significantly_above(np.array([0.2]), np.zeros(1)).all()


def counted(rng: np.random.Generator, sentences: int, shares: Float64s, together: int) -> np.ndarray:
    """Sentences with each score, and those of bootstrap samples by document: documents of some with one score."""
    documents = rng.multinomial(sentences // together, shares)
    drawn = rng.poisson(documents[:, None], (len(shares), DRAWS))
    return (together * np.concatenate([documents[:, None], drawn], 1)).astype(np.int32)


@pytest.mark.slow
@pytest.mark.parametrize(("winners", "others", "sizes"), [(48, 800, (1, 2)), (100, 4_000, (2, 4))])
def test_intervals_hold_the_truth_as_often_as_they_say(winners: int, others: int, sizes: tuple[int, int]) -> None:
    rng, parts, keeps, simulations = np.random.default_rng(0), 3, 0.5, 2_000
    rest = np.array([0.02, 0.1, 0.88])

    def share(gain: float) -> Float64s:
        return np.array([0.02 + gain, 0.1 + gain / 2, 0.88 - 1.5 * gain])

    def truth(own: Float64s) -> float:
        large = [np.round(of * 1e8).astype(np.int32)[:, None] for of in (own, rest)]
        return float(average_precision(*large)[0])

    wanted = (truth(share(0.1)) - truth(rest)) / (truth(share(0.2)) - truth(rest))
    held, defined = 0, 0
    for _ in range(simulations):
        own, random = np.empty((2, parts, parts, 1 + DRAWS))
        for start in range(parts):
            for to in range(parts):
                gain = share(0.2 if start == to else 0.2 * keeps)
                for table, of in ((own, gain), (random, rest)):
                    hits, called = counted(rng, winners, of, sizes[0]), counted(rng, others, rest, sizes[1])
                    table[start, to] = average_precision(hits, called)
        found = Precisions(own, random, np.full(parts, others // sizes[1]), np.zeros(parts, np.int32))
        transfer = found.transfer(found.pairs)
        if math.isfinite(transfer.value):
            defined += 1
            held += transfer.low <= wanted <= transfer.high
    assert defined > 0.8 * simulations
    assert 0.93 <= held / defined <= 0.97
