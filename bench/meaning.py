"""Measures the speed and memory of counting words and their contexts, and prints one line of JSON.

    python -m bench meaning
    python -m bench meaning --synthetic 10000000 --minutes 10

Real sentences go through both passes of `ops.meaning`; times are processor time. The sentences come from the Parquet
files of the folder corpora/ below ATLAS_TEST_DATA if that is set, otherwise from docstrings. A plain count in Python
checks the numbers. With --synthetic, that number of sentences of 15 words follows, or as many as fit into --minutes.
Their words are drawn from a million words by Zipf's law. They are counted shard by shard as in the job, with each kind
of worker in its own process. The benchmark reports the peak memory of each process, and its growth over the second half
of the shards. The exit status is 1 if a count differs or the target is missed.
"""

import argparse
import json
import multiprocessing
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from bench.texts import draw
from jobs.meaning.counts import WORDS_PER_RANGE
from ops.meaning.contexts import ContextCounter
from ops.meaning.vocabulary import Vocabulary, add_counts, choose, count_words
from ops.meaning.words import split_words
from ops.shards import spans
from ops.storage.range_file import read_each_between, write_numbers
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE
from ops.storage.store import Store

TARGET = 150_000  # words per second and core, for both passes together
WINDOW, MIN_COUNT, CONTEXTS = 5, 5, 2_000
CHECKED = 2_000  # number of sentences that are also counted in plain Python
SHARD, WORDS, DISTINCT = 100_000, 15, 1_000_000
_LETTERS = str.maketrans("0123456789", "bcdfghjklm")


def main() -> int:
    """Run the benchmark and print its line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=40_000)
    parser.add_argument("--synthetic", type=int, default=0, help="sentences of the made-up corpus; 0: none")
    parser.add_argument("--minutes", type=float, default=10, help="about how long the made-up corpus may take")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="accepted by all benchmarks; this one always prints JSON")
    options = parser.parse_args()
    texts = draw(options.sentences, options.seed)
    choose(count_words(texts[:100], "keep"), 1, 5)  # only to import the stop words in advance
    started = time.process_time()
    counts = add_counts([count_words(texts, "keep")])
    vocabulary = choose(counts, MIN_COUNT, CONTEXTS)
    words_s = time.process_time() - started
    counter = ContextCounter(vocabulary, WINDOW, "keep")
    agree = pc.sum(counter.count(texts[:CHECKED])["total"]).as_py() == recount(texts[:CHECKED], vocabulary)
    started = time.process_time()
    pairs = counter.count(texts)
    contexts_s = time.process_time() - started
    words = int(counts["count"].to_numpy().sum())
    rate = words / (words_s + contexts_s)
    result = {
        "sentences": len(texts),
        "words": words,
        "distinct_words": counts.num_rows,
        "pairs": pairs.num_rows,
        "words_cpu_s": round(words_s, 2),
        "contexts_cpu_s": round(contexts_s, 2),
        "words_per_cpu_s": round(rate),
        "counts_agree": bool(agree),
        "target_met": rate >= TARGET,
    }
    if options.synthetic:
        result |= count_synthetic(options.synthetic, options.minutes, options.seed)
    print(json.dumps({"bench": "meaning", **result}))
    return 0 if result["counts_agree"] and result["target_met"] else 1


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


def count_synthetic(sentences: int, minutes: float, seed: int) -> dict[str, object]:
    """Count synthetic sentences shard by shard as the job does, with each kind of worker in its own process.

    Returns:
        The number of sentences that fitted into the time, and the highest memory of each process in MB. For processes
        that work shard by shard, also the growth over the second half of the shards, in MB per million sentences.
    """
    started = time.perf_counter()
    most = -(-sentences // SHARD)
    with tempfile.TemporaryDirectory() as folder:
        # The first pass takes about a fifth of the total time, which includes adding up millions of pairs.
        words = apart(word_worker, folder, most, seed, minutes * 60 / 5)
        shards = len(words)
        vocabulary = apart(vocabulary_maker, folder, shards)
        pairs = apart(pair_worker, folder, shards, seed)
        merged = apart(merge_worker, folder, shards)
    done = shards * SHARD
    return {
        "synthetic_sentences": done,
        "synthetic_distinct_words": vocabulary["distinct"],
        "synthetic_words_kept": vocabulary["kept"],
        "synthetic_pairs": merged["pairs"],
        "synthetic_s": round(time.perf_counter() - started, 1),
        "peak_mb": {"words": words[-1], "vocabulary": vocabulary["mb"], "contexts": pairs[-1], "add_up": merged["mb"]},
        "mb_a_million_sentences": {"words": slope(words), "contexts": slope(pairs)},
    }


def apart(work: Callable[..., Any], *given: Any) -> Any:
    """Call a function in a new process, and return its result."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *given).result()


def word_worker(folder: str, most: int, seed: int, seconds: float) -> list[int]:
    """Count the words of shard after shard until the time is up; return the highest memory after each, in MB."""
    started, peaks = time.perf_counter(), []
    for shard in range(most):
        pq.write_table(count_words(zipf(shard, seed), "keep"), Path(folder) / f"words-{shard}.parquet")
        peaks.append(peak_mb())
        if time.perf_counter() - started > seconds:
            break
    return peaks


def vocabulary_maker(folder: str, shards: int) -> dict[str, int]:
    """Add up all shards' words, and write those that are kept."""
    counts = add_counts(pq.read_table(Path(folder) / f"words-{shard}.parquet") for shard in range(shards))
    vocabulary = choose(counts, MIN_COUNT, CONTEXTS)
    pq.write_table(vocabulary.to_table(), Path(folder) / "vocabulary.parquet")
    return {"distinct": counts.num_rows, "kept": len(vocabulary.rows), "mb": peak_mb()}


def pair_worker(folder: str, shards: int, seed: int) -> list[int]:
    """Count the contexts in shard after shard; return the highest memory after each, in MB."""
    vocabulary = Vocabulary.from_table(pq.read_table(Path(folder) / "vocabulary.parquet"))
    counter, peaks = ContextCounter(vocabulary, WINDOW, "keep"), []
    for shard in range(shards):
        write_numbers(counter.count(zipf(shard, seed)), f"{folder}/pairs-{shard}.parquet")
        peaks.append(peak_mb())
    return peaks


def merge_worker(folder: str, shards: int) -> dict[str, int]:
    """Add up the counts of all shards, one range of words after another."""
    vocabulary = Vocabulary.from_table(pq.read_table(Path(folder) / "vocabulary.parquet"))
    store, columns, pairs = Store(folder), len(vocabulary.columns), 0
    for span in spans(len(vocabulary.rows), WORDS_PER_RANGE):
        first, stop = (row * columns for row in span)
        files = [f"pairs-{shard}.parquet" for shard in range(shards)]
        pairs += add_counts(read_each_between(store, files, "key", first, stop - 1, LARGE_FILES_AT_ONCE)).num_rows
    return {"pairs": pairs, "mb": peak_mb()}


def slope(peaks: list[int]) -> float | None:
    """Return the growth of the memory over the second half of the shards, in MB per million sentences."""
    half = len(peaks) // 2
    return round((peaks[-1] - peaks[half]) / ((len(peaks) - 1 - half) * SHARD / 1e6), 1) if half > 1 else None


def zipf(shard: int, seed: int) -> list[str]:
    """Return the synthetic sentences of a shard, with words that follow Zipf's law."""
    rng = np.random.default_rng([seed, shard])
    # This inverts Zipf's cumulative distribution, in which word r has a share of about 1 / (r ln(DISTINCT)).
    ranks = np.exp(rng.random((SHARD, WORDS)) * np.log(DISTINCT)).astype(np.int64)
    # Ranks are written in letters, so that they count as content words.
    return [("q" + " q".join(map(str, row))).translate(_LETTERS) for row in ranks.tolist()]


def peak_mb() -> int:
    """Return the highest memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    sys.exit(main())
