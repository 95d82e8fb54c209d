"""The miners, counts and measures together: planted patterns are found first, and random data yields nothing."""

import numpy as np
import pytest

from ops.patterns import count_sequences, mine_sequences
from ops.patterns.productivity import productive_sequences
from ops.patterns.sequences import Sequences
from ops.statistics.association import measures, rank_patterns
from ops.statistics.false_discovery import p_values, q_values, selected_p_values


def language(random: np.random.Generator, n_sentences: int) -> Sequences:
    """Sentences of a Markov chain over items of Zipf-like frequency, so that patterns are dependent."""
    n_items = 60
    chain = random.dirichlet(2 / np.arange(1, n_items + 1), size=n_items).cumsum(axis=1)
    rows = []
    for length in random.integers(3, 12, n_sentences):
        row = [int(random.integers(n_items))]
        for draw in random.random(length):
            row.append(min(int(np.searchsorted(chain[row[-1]], draw)), n_items - 1))
        rows.append(row)
    return Sequences.from_lists(rows)


def test_a_planted_trigram_is_ranked_first_and_survives_the_filter():
    random = np.random.default_rng(0)
    rows = language(random, 3000).to_lists()
    for row in rows[:150]:
        place = int(random.integers(len(row) + 1))
        row[place:place] = [3, 0, 5]
    winners, baseline = Sequences.from_lists(rows[:500]), Sequences.from_lists(rows[500:])
    patterns, support = mine_sequences.mine(winners, 10, 5, 0)
    found = measures(support, 500, count_sequences.count(baseline, patterns, 0), 2500)
    names = [" ".join(map(str, row)) for row in patterns.to_lists()]
    kept = productive_sequences(patterns, found.lift)
    assert names[int(rank_patterns(found.g2, support, names)[0])] == "3 0 5"
    assert kept[names.index("3 0 5")]
    assert kept.sum() < 0.6 * len(patterns)


@pytest.mark.parametrize("floor", [5, 15])
def test_random_sets_of_sentences_have_no_pattern_but_at_the_stated_rate(floor):
    random = np.random.default_rng(1)
    corpus = language(random, 4000)
    draws = 40
    plain = selected = 0
    low = []
    for _ in range(draws):
        winner = np.zeros(len(corpus), bool)
        winner[random.choice(len(corpus), 300, replace=False)] = True
        patterns, support = mine_sequences.mine(corpus.take(winner), floor, 3, 2)
        others = count_sequences.count(corpus.take(~winner), patterns, 2)
        counts = (support, 300, others, len(corpus) - 300)
        p = selected_p_values(*counts, floor)
        low.append(float((p < 0.05).mean()))
        selected += bool((q_values(p) < 0.05).any())
        plain += bool((q_values(p_values(measures(*counts).g2)) < 0.05).any())
    assert selected / draws <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / draws)
    assert plain >= selected
    assert 0 < np.mean(low) <= 0.06
