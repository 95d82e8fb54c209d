"""The miners, counts and measures together: a planted pattern is found first."""

import numpy as np

from ops.patterns import count_sequences
from ops.patterns.productivity import productive_sequences
from ops.patterns.sequences import Sequences
from ops.statistics.association import measures, rank_patterns
from tests.unit.patterns.mined import mine


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
    patterns, support = mine(winners, 10, 5, 0)
    found = measures(support, 500, count_sequences.count(baseline, patterns, 0), 2500)
    names = [" ".join(map(str, row)) for row in patterns.to_lists()]
    kept = productive_sequences(patterns, found.lift, 1.05, Sequences.of_all(len(patterns)))
    alphabetical, one_group = np.argsort(np.argsort(names)), np.zeros(len(names), np.int64)
    assert names[int(rank_patterns(found.g2, support, alphabetical, one_group)[0])] == "3 0 5"
    assert kept[names.index("3 0 5")]
    assert kept.sum() < 0.6 * len(patterns)
