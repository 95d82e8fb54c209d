import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, false_discovery_control

from ops.statistics.association import signed_g2
from ops.statistics.false_discovery import (
    description_rates,
    p_values,
    q_values,
    q_values_among,
    selected_p_values,
    significantly_above,
)

P = st.floats(0, 1)


def test_p_is_the_upper_tail_of_chi_square_for_either_sign():
    g2 = np.array([0.0, 0.1, 3.84, 50.0, 900.0])
    assert p_values(g2) == pytest.approx(chi2.sf(g2, 1), rel=1e-9)
    assert p_values(-g2).tolist() == p_values(g2).tolist()


@given(st.lists(st.tuples(P, st.integers(0, 3)), max_size=30))
def test_q_is_benjamini_and_hochberg_within_each_group(rows):
    p, groups = np.array([row[0] for row in rows]), np.array([row[1] for row in rows], dtype=int)
    found = q_values(p, groups)
    for group in np.unique(groups):
        assert found[groups == group] == pytest.approx(false_discovery_control(p[groups == group]))
    if len(rows):
        assert q_values(p) == pytest.approx(false_discovery_control(p))


def test_a_small_p_keeps_its_digits_in_every_group():
    assert q_values([1e-200, 1.0, 1e-100, 1.0], ["b", "b", "a", "a"]).tolist() == [2e-200, 1.0, 2e-100, 1.0]


def test_selection_only_weakens_and_spares_what_is_far_above_the_floor():
    support, baseline = np.array([5, 8, 2000]), np.array([300, 100, 20_000])
    plain = p_values(signed_g2(support, 10_000, baseline, 1_000_000))
    selected = selected_p_values(support, 10_000, baseline, 1_000_000, 5)
    assert np.all(selected >= plain)
    assert selected[0] == 1
    assert selected[2] == pytest.approx(plain[2])
    assert selected_p_values([9], 10, [0], 0, 5).tolist() == [1]


def test_among_random_sets_false_discoveries_keep_to_their_rate():
    """Rare patterns at a Zipf-like rate, kept by support: uncorrected, most draws show a false one."""
    random = np.random.default_rng(0)
    rate = 1 / np.arange(20, 20_000)
    plain = corrected = 0
    draws = 60
    for _ in range(draws):
        support, baseline = random.binomial(2_000, rate), random.binomial(50_000, rate)
        mined = support >= 5
        table = (support[mined], 2_000, baseline[mined], 50_000)
        plain += bool((q_values(p_values(signed_g2(*table))) < 0.05).any())
        corrected += bool((q_values(selected_p_values(*table, 5)) < 0.05).any())
    assert corrected / draws <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / draws)
    assert plain > corrected


FINDINGS = st.lists(st.tuples(P, st.integers(0, 3), st.integers(0, 2)), max_size=25)


def by_definition(q: float, own: int, families: dict[int, list[float]]) -> float:
    """Return the least rate of a grid fine enough at which the family is selected and lists the finding."""
    least = sorted(min(values) for values in families.values())
    n = len(least)
    # Rates at which anything changes: where another family is selected, and where a family lists the finding.
    rates = {n * p / (i + 1) for i, p in enumerate(least)} | {q * n / r for r in range(1, n + 1)}
    for rate in sorted(rate for rate in rates if rate <= 1):
        chosen = max((i + 1 for i, p in enumerate(least) if p <= rate * (i + 1) / n * (1 + 1e-12)), default=0)
        if chosen and q <= rate * chosen / n * (1 + 1e-12) and min(families[own]) <= rate * chosen / n * (1 + 1e-12):
            return rate
    return 1.0


@given(FINDINGS)
def test_the_rate_over_a_description_is_that_of_selected_families(rows):
    q, family, group = (np.array([row[place] for row in rows]) for place in range(3))
    found = description_rates(q, family, group)
    for place, (value, own, number) in enumerate(rows):
        families: dict[int, list[float]] = {}
        for other, its, where in rows:
            if where == number:
                families.setdefault(its, []).append(other)
        assert found[place] == pytest.approx(by_definition(value, own, families), rel=1e-6, abs=1e-12)


def test_one_family_keeps_its_rates_and_none_is_left_alone():
    assert description_rates([0.01, 0.3], ["word", "word"], [0, 0]).tolist() == [0.01, 0.3]
    assert description_rates([], [], []).tolist() == []
    found = description_rates([0.01, np.nan, np.nan], ["word", "word", "tag"], [0, 0, 0])
    assert found[0] == 0.01
    assert np.isnan(found[1:]).all()


def test_of_descriptions_without_a_true_finding_few_have_any():
    random = np.random.default_rng(3)
    draws, families = 600, np.repeat(np.arange(8), [1, 3, 10, 30, 5, 5, 2, 40])
    whole = apart = 0
    for _ in range(draws):
        q = q_values(random.random(len(families)), families)
        apart += bool((q < 0.05).any())
        whole += bool((description_rates(q, families, np.zeros(len(q))) < 0.05).any())
    assert whole / draws <= 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / draws)
    assert apart / draws > 0.2


def test_findings_of_nothing_are_rare() -> None:
    rng = np.random.default_rng(1)
    large, none = np.full(6, 1e6), np.ones(6)
    any_found = [significantly_above(rng.standard_normal(6), none, large).any() for _ in range(4_000)]
    # Half of the 5 % that differ from 0 are above it.
    assert np.mean(any_found) == pytest.approx(0.025, abs=0.01)
    assert not significantly_above(np.array([0.0, -1.0]), none[:2], large[:2]).any()
    assert significantly_above(np.array([3.0]), none[:1], large[:1]).all()
    assert not significantly_above(np.array([3.0]), none[:1], np.ones(1)).any()  # one degree of freedom


@given(st.lists(P, max_size=8), st.integers(0, 30))
def test_hypotheses_whose_p_is_one_need_not_be_named(ps, others):
    found = q_values_among(np.array(ps), len(ps) + others)
    # Below the normal numbers a float has no seven digits left to agree in.
    np.testing.assert_allclose(found, q_values([*ps, *[1.0] * others])[: len(ps)], atol=1e-300)
