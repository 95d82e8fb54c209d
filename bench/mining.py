"""Compares the speed of mining one neuron's sentences with the `prefixspan` package.

    python -m bench mining

Words and tags of real sentences come from the shipped English pipeline, without punctuation. Everything runs on one
thread: the package once, and our compiled code five times, of which the median counts. The exit status is 1 if a count
differs or a target is missed. For the time of a complete run's mining, see `bench mine`.
"""

import statistics
from typing import Any

import numpy as np

from bench.harness import Result
from bench.resources import repeated, timed
from bench.texts import draw
from ops.patterns import mine_sequences, prefixspan_package
from ops.patterns.mined import NEVER, Mined
from ops.patterns.sequences import Sequences
from ops.penn import PUNCTUATION_TAGS
from ops.sentences.pipeline import SHIPPED, Annotator

TARGETS = {"word": 50, "tag": 25}
MAX_LENGTH = {"word": 5, "tag": 4}


def measure(sentences: int = 10_000, seed: int = 0) -> Result:
    """Mine words and tags both ways, without a limit of the gap.

    Args:
        sentences: sentences of the one neuron.
        seed: the seed of the draw of sentences.
    """
    kept = [
        [(word, tag) for word, tag in zip(one.words, one.tags or (), strict=True) if tag not in PUNCTUATION_TAGS]
        for one in Annotator(SHIPPED).annotate(draw(sentences, seed))
    ]
    found = {kind: compare(kind, [[pair[place] for pair in row] for row in kept]) for place, kind in enumerate(TARGETS)}
    return {
        "sentences": sentences,
        **found,
        "counts_agree": all(one["counts_agree"] for one in found.values()),
        "targets_met": all(one["ratio"] >= TARGETS[kind] for kind, one in found.items()),
    }


def compare(kind: str, rows: list[list[str]]) -> dict[str, Any]:
    """Return the measurements of one kind of items, given the items of each sentence."""
    codes: dict[str, int] = {}
    database = Sequences.from_lists([[codes.setdefault(item, len(codes)) for item in row] for row in rows])
    least, longest = -(-len(database) // 100), MAX_LENGTH[kind]
    slow, wanted = timed(prefixspan_package.mine, database, least, longest)
    each, mined = repeated(lambda: mine(database, least, longest), 5)
    fast = statistics.median(seconds.clock for seconds in each)
    support = mined.counts["support"].tolist()
    found = list(zip(map(tuple, mined.patterns.to_lists()), support, strict=True))
    return {
        "mean_length": round(database.lengths.mean(), 1),
        "patterns": len(found),
        "prefixspan_s": round(slow.clock, 3),
        "ours_s": round(fast, 4),
        "ratio": round(slow.clock / fast, 1),
        "counts_agree": sorted(found) == sorted(wanted),
    }


def mine(database: Sequences, least: int, longest: int) -> Mined:
    """Mine all sentences as one set, without marks and documents."""
    count = len(database)
    nowhere, one = np.zeros(count, np.uint8), np.zeros(count, np.int32)
    minimum = np.array([[least, NEVER, NEVER]])
    return mine_sequences.mine_sets(database, Sequences.of_all(count), minimum, longest, -1, nowhere, one)
