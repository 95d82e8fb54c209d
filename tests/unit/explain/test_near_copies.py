import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ops.explain.card_choice import Having, shown_by
from tests.unit.labelled_sentences import occurrences


@given(st.integers(0, 90), st.integers(1, 12), st.integers(0, 2**16), st.sampled_from([0.5, 0.9, 1.0]))
def test_each_joins_the_first_near_copy_that_is_shown(n: int, literals: int, seed: int, least: float) -> None:
    rng = np.random.default_rng(seed)
    has = rng.random((n, literals)) < rng.choice([0.02, 0.4, 0.97], literals)
    copied = rng.integers(0, literals, literals)
    has = np.where(rng.random(literals) < 0.5, has[:, copied] ^ (rng.random((n, literals)) < 0.03), has)
    order = rng.permutation(literals)
    expected, shown = np.arange(literals), []
    for literal in order:
        for other in shown:
            if (has[:, literal] & has[:, other]).sum() >= least * (has[:, literal] | has[:, other]).sum():
                expected[literal] = other
                break
        else:
            if has[:, literal].any():
                shown.append(literal)
    wins = rng.random(n) < 0.3
    # Of the literals some are of a pool, and of the sentences some are further ones.
    pool, known = rng.integers(0, literals + 1), rng.integers(0, n + 1)
    turned = rng.permutation(pool)
    further = occurrences(has[known:]) if known < n else None
    having = Having.of(
        occurrences(has[:known, turned]), turned.argsort(), occurrences(has[:known, pool:]), further, known
    )
    support, shown = has.sum(0), np.full(literals, -1)
    with_winners = has[wins].sum(0).astype(float)
    for literal in rng.permutation(literals):
        assert (
            shown_by(having, order, order.argsort(), with_winners, support, literal, least, shown) == expected[literal]
        )
    assert shown.tolist() == expected.tolist()
