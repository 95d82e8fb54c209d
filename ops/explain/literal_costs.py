"""What a literal must gain before it joins a score card: the length of its name, in nats."""

from functools import lru_cache

import numpy as np

from ops.arrays import Bools, Float64s, Int64s

LEAST, WEIGHT = 3.0, 1.0


def costs(support: Int64s, nuisance: Bools) -> Float64s:
    """Return the cost of each literal of a pool, `[L]`, in nats.

    Literals are ranked by the number of sentences that have them, the most common first; ties keep their order.
    Nuisance and language are ranked separately. The cost is the length of a literal's name in the shorter of two codes.
    The first code gives short names to the most common of n literals: log(rank) + log(1 + 1/2 + ... + 1/n). In the
    second code all names are equally long: log(n). So the few common literals do not pay for the thousands of rare
    ones. The weight costs one more nat, as in Akaike's criterion. The total is at least 3 nats (odds of 20 to 1),
    however few literals there are.

    Args:
        support: number of sentences that have each literal, `[L]`.
        nuisance: which literals are nuisance, `[L]`.

    >>> costs(np.arange(100), np.zeros(100, bool))[[99, 90, 50, 0]].round(2).tolist()
    [3.0, 4.95, 5.61, 5.61]
    """
    cost = np.empty(len(support))
    for kind in (True, False):
        literals = np.flatnonzero(nuisance == kind)
        cost[literals[np.argsort(-support[literals], kind="stable")]] = _by_rank(len(literals))
    return cost


def costs_of_more(nuisance: Bools, pool: Bools) -> Float64s:
    """Return the costs of literals outside the pool, `[m]`, in nats.

    They are ranked in the given order, after the pool's nuisance literals or after its language literals.

    Args:
        nuisance: which of these literals are nuisance, `[m]`.
        pool: which of the pool's literals are nuisance, `[L]`.
    """
    cost = np.empty(len(nuisance))
    for kind in (True, False):
        literals, before = np.flatnonzero(nuisance == kind), int(np.count_nonzero(pool == kind))
        cost[literals] = _by_rank(before + len(literals))[before:]
    return cost


# A set has at most a few dozen literals of its own, so the same few numbers are requested again and again.
@lru_cache(64)
def _by_rank(literals: int) -> Float64s:
    ranks = np.arange(1, literals + 1)
    names = np.log(ranks) + np.log(max(np.sum(1 / ranks), 1))
    cost = np.asarray(np.maximum(np.minimum(names, np.log(max(literals, 1))) + WEIGHT, LEAST), np.float64)
    cost.flags.writeable = False
    return cost
