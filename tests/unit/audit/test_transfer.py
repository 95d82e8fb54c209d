import math

import numpy as np
import pytest

from ops.arrays import Float64s
from ops.audit.transfer import Precisions
from ops.sentences.folds import FOLDS
from ops.statistics.average_precision import Ranked, average_precision


def precisions(own: list[list[float]], random: list[list[float]], spread: float = 0.0, group: int = 0) -> Precisions:
    """Precisions with independent errors in each cell."""
    parts = len(own)
    groups = np.arange(parts, dtype=np.int32) // group if group else np.zeros(parts, np.int32)
    error, products = np.full((parts, parts), spread), np.repeat([2 * spread**2 * np.eye(parts)], parts, 0)
    sizes = np.full(parts, 1_000)
    values, errors = np.array([own, random]), np.array([error, error])
    return Precisions(values, errors, products, sizes, sizes - 1.0, groups)


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


@pytest.mark.parametrize(("gain", "documents", "beats"), [(0.04, 10, False), (0.04, 200, True), (0.9, 10, True)])
def test_without_any_spread_a_gain_must_exceed_what_a_document_could_change(
    gain: float, documents: int, beats: bool
) -> None:
    values, nothing, sizes = np.full((2, 1, 1), 0.01), np.zeros((2, 1, 1)), np.array([documents])
    values[0] += gain
    found = Precisions(values, nothing, nothing[:1], sizes, sizes - 1.0, np.zeros(1, np.int32))
    assert found.beats_random().tolist() == [beats]
    own = found.interval(0, 0, 0)
    assert 0 <= own.low < own.value < own.high <= 1


def drawn(rng: np.random.Generator, sentences: int, shares: Float64s, together: int, first: int) -> Ranked:
    """Documents of some sentences with one score, in all folds; documents are numbered from `first`."""
    scores = rng.choice(len(shares), sentences // together, p=shares)
    document = np.repeat(np.arange(len(scores)), together)
    return Ranked(document % FOLDS, first + document, -scores[document])


@pytest.mark.slow
@pytest.mark.parametrize(("winners", "others", "sizes"), [(48, 800, (1, 2)), (100, 4_000, (2, 4))])
def test_intervals_hold_the_truth_as_often_as_they_say(winners: int, others: int, sizes: tuple[int, int]) -> None:
    rng, parts, simulations = np.random.default_rng(0), 3, 1_000
    rest, documents = np.array([0.02, 0.1, 0.88]), winners // sizes[0]

    def cell(gain: float) -> tuple[float, float]:
        """The average precision of a card and the variance of its error."""
        own = drawn(rng, winners, np.array([0.02 + gain, 0.1 + gain / 2, 0.88 - 1.5 * gain]), sizes[0], 0)
        every = drawn(rng, others, rest, sizes[1], documents)
        found = average_precision(own, every, 1, FOLDS, documents + others // sizes[1])
        return float(found.value[0]), float((found.effects**2).sum() * documents / (documents - 1))

    means = [np.mean([cell(gain)[0] for _ in range(4_000)]) for gain in (0.0, 0.1, 0.2)]
    wanted = (means[1] - means[0]) / (means[2] - means[0])
    held = defined = 0
    for _ in range(simulations):
        cells = [[cell(0.2 if start == to else 0.1) for to in range(parts)] for start in range(parts)]
        own, random = np.array(cells), np.array([[cell(0.0) for _ in range(parts)] for _ in range(parts)])
        variances = own[:, :, 1] + random[:, :, 1]
        products = np.stack([np.diag(variances[:, to]) for to in range(parts)])
        found = Precisions(
            np.stack([own, random])[:, :, :, 0], np.zeros((2, parts, parts)), products,
            np.full(parts, documents), np.full(parts, documents - 1.0), np.zeros(parts, np.int32),
        )  # fmt: skip
        transfer = found.transfer(found.pairs)
        if math.isfinite(transfer.value):
            defined += 1
            held += transfer.low <= wanted <= transfer.high
    assert defined > 0.8 * simulations
    assert 0.92 <= held / defined <= 0.98
