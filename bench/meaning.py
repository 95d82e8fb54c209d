"""How fast words and their contexts are counted, and in what memory, in one line of JSON.

    python -m bench meaning
    python -m bench meaning --synthetic 1000000

Real sentences (the Parquet files of the folder corpora/ below ATLAS_TEST_DATA where that is set, else docstrings) go
through both passes of `ops.meaning`; times are the process's own. A plain count in Python checks the numbers. With
--synthetic so many sentences of 15 words follow, shard by shard, whose words are drawn by Zipf's law from a million,
the shards' files on disk as in the job; what is told is the highest memory before and after. Exit status 1 where a
count differs or the target is missed.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from bench.texts import draw
from ops.meaning.contexts import ContextCounter, Counts, add_up
from ops.meaning.vocabulary import Vocabulary, add_counts, choose, count_words
from ops.meaning.words import split_words

TARGET = 150_000  # words a second and core, both passes together
WINDOW, MIN_COUNT, CONTEXTS = 5, 5, 2_000
CHECKED = 2_000  # sentences that are counted in plain Python too
SHARD, WORDS, DISTINCT = 100_000, 15, 1_000_000


def main() -> int:
    """Run the benchmark and print its line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=40_000)
    parser.add_argument("--synthetic", type=int, default=0, help="sentences of the made-up corpus; 0: none")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="accepted for all benchmarks; the output is JSON anyway")
    options = parser.parse_args()
    texts = draw(options.sentences, options.seed)
    choose(count_words(texts[:100], "keep"), 1, 5)  # imports the stop words, and nothing else
    started = time.process_time()
    counts = add_counts([count_words(texts, "keep")])
    vocabulary = choose(counts, MIN_COUNT, CONTEXTS)
    words_s = time.process_time() - started
    counter = ContextCounter(vocabulary, WINDOW, "keep")
    agree = counter.count(texts[:CHECKED]).total.sum() == recount(texts[:CHECKED], vocabulary)
    started = time.process_time()
    pairs = counter.count(texts)
    contexts_s = time.process_time() - started
    words = int(counts["count"].to_numpy().sum())
    rate = words / (words_s + contexts_s)
    result = {
        "sentences": len(texts),
        "words": words,
        "distinct_words": counts.num_rows,
        "pairs": len(pairs.key),
        "words_cpu_s": round(words_s, 2),
        "contexts_cpu_s": round(contexts_s, 2),
        "words_per_cpu_s": round(rate),
        "counts_agree": bool(agree),
        "target_met": rate >= TARGET,
    }
    if options.synthetic:
        result |= count_synthetic(options.synthetic, options.seed)
    print(json.dumps({"bench": "meaning", **result}))
    return 0 if result["counts_agree"] and result["target_met"] else 1


def recount(texts: list[str], vocabulary: Vocabulary) -> int:
    """Return how many pairs a plain loop finds."""
    rows, columns = set(vocabulary.rows), set(vocabulary.columns)
    found: Counter[tuple[str, str]] = Counter()
    for text in texts:
        words = split_words(text)
        for i, word in enumerate(words):
            near = words[max(i - WINDOW, 0) : i] + words[i + 1 : i + 1 + WINDOW]
            found.update((word, other) for other in near if word in rows and other in columns)
    return sum(found.values())


def count_synthetic(sentences: int, seed: int) -> dict[str, object]:
    """Count made-up sentences shard by shard, and return how much memory that took at most."""
    before = peak_mb()
    started = time.process_time()
    shards = -(-sentences // SHARD)
    with tempfile.TemporaryDirectory() as folder:
        for shard in range(shards):
            pq.write_table(count_words(zipf(shard, seed), "keep"), Path(folder) / f"words-{shard}.parquet")
        one_shard = peak_mb()
        counts = add_counts(pq.read_table(Path(folder) / f"words-{shard}.parquet") for shard in range(shards))
        vocabulary = choose(counts, MIN_COUNT, CONTEXTS)
        merged = peak_mb()
        counter = ContextCounter(vocabulary, WINDOW, "keep")
        for shard in range(shards):
            pq.write_table(
                pa.table(counter.count(zipf(shard, seed))._asdict()), Path(folder) / f"pairs-{shard}.parquet"
            )
        contexts = peak_mb()
        total = add_up(read_pairs(Path(folder), shards))
    return {
        "synthetic_sentences": sentences,
        "synthetic_distinct_words": counts.num_rows,
        "synthetic_words_kept": len(vocabulary.rows),
        "synthetic_pairs": len(total.key),
        "synthetic_cpu_s": round(time.process_time() - started, 1),
        "peak_mb": {"before": before, "words": one_shard, "vocabulary": merged, "contexts": contexts, "sum": peak_mb()},
    }


def zipf(shard: int, seed: int) -> list[str]:
    """Return the sentences of a shard."""
    rng = np.random.default_rng([seed, shard])
    # The inverse of Zipf's cumulative share: word r has a share of about 1 / (r ln(DISTINCT)).
    ranks = np.exp(rng.random((SHARD, WORDS)) * np.log(DISTINCT)).astype(np.int64)
    return [" ".join(f"w{chr(97 + r % 26)}{r}x" for r in row) for row in ranks.tolist()]


def read_pairs(folder: Path, shards: int) -> Iterator[Counts]:
    """Return the counts of each shard in turn."""
    for shard in range(shards):
        table = pq.read_table(folder / f"pairs-{shard}.parquet")
        yield Counts(table["key"].to_numpy(), table["total"].to_numpy())


def peak_mb() -> int:
    """Return the highest memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    sys.exit(main())
