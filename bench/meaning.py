"""Measures the speed of counting words and their contexts.

    python -m bench meaning

Real sentences go through both passes of `ops.meaning`; times are processor time. A plain count in Python checks the
numbers. The exit status is 1 if a count differs or the target is missed.
"""

from collections import Counter

import pyarrow.compute as pc  # type: ignore[import-untyped]

from bench.harness import Result
from bench.resources import timed
from bench.texts import draw
from ops.meaning.counts import ContextCounter, Vocabulary, add_counts, choose, count_words
from ops.meaning.words import split_words

TARGET = 150_000  # words per second and core, for both passes together
WINDOW, MIN_COUNT, CONTEXTS = 5, 5, 2_000
CHECKED = 2_000  # number of sentences that are also counted in plain Python


def measure(sentences: int = 40_000, seed: int = 0) -> Result:
    """Count words and pairs.

    Args:
        sentences: number of sentences.
        seed: the seed of the draw of sentences.
    """
    texts = draw(sentences, seed)
    choose(count_words(texts[:100], "keep"), 1, 5)  # only to import the stop words in advance
    words_s, counts = timed(lambda: add_counts([count_words(texts, "keep")]))
    choose_s, vocabulary = timed(choose, counts, MIN_COUNT, CONTEXTS)
    words_cpu_s = words_s.processor + choose_s.processor
    counter = ContextCounter(vocabulary, WINDOW, "keep")
    agree = pc.sum(counter.count(texts[:CHECKED])["total"]).as_py() == recount(texts[:CHECKED], vocabulary)
    contexts_s, pairs = timed(counter.count, texts)
    words = int(counts["count"].to_numpy().sum())
    rate = words / (words_cpu_s + contexts_s.processor)
    return {
        "sentences": len(texts),
        "words": words,
        "distinct_words": counts.num_rows,
        "pairs": pairs.num_rows,
        "words_cpu_s": round(words_cpu_s, 2),
        "contexts_cpu_s": round(contexts_s.processor, 2),
        "words_per_cpu_s": round(rate),
        "counts_agree": bool(agree),
        "target_met": rate >= TARGET,
    }


def recount(texts: list[str], vocabulary: Vocabulary) -> int:
    """Return the number of pairs that a plain loop finds."""
    rows, columns = set(vocabulary.rows), set(vocabulary.columns)
    found: Counter[tuple[str, str]] = Counter()
    for text in texts:
        words = split_words(text)
        for i, word in enumerate(words):
            near = words[max(i - WINDOW, 0) : i] + words[i + 1 : i + 1 + WINDOW]
            found.update((word, other) for other in near if word in rows and other in columns)
    return sum(found.values())
