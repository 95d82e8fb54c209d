import numpy as np

from ops.explain.literal_costs import LEAST, WEIGHT, costs, costs_of_more


def test_the_names_of_a_pool_can_be_told_apart() -> None:
    """By Kraft's inequality names of these lengths exist, one code or the other being said first."""
    support, nuisance = np.arange(20_000), np.arange(20_000) < 40
    found = costs(support, nuisance)
    for kind in (True, False):
        own = found[nuisance == kind]
        assert np.exp(WEIGHT - own[own > LEAST]).sum() <= 2
        assert (np.diff(own) <= 0).all()


def test_nuisance_and_language_are_ranked_apart_and_one_s_own_come_last() -> None:
    nuisance = np.array([False, True, False, True, False])
    found = costs(np.array([5, 9, 50, 1, 7]), nuisance)
    assert found.tolist() == [LEAST] * 5
    many = np.zeros(1_000, np.bool_)
    assert costs_of_more(np.array([False, True]), many).tolist() == [np.log(1_001) + WEIGHT, LEAST]
    assert not costs_of_more(nuisance[:0], many).size
    assert not costs(np.zeros(0, np.int64), nuisance[:0]).size
