"""Measures the speed and memory of ingest on a synthetic source, and checks that all of its known counts are exact.

    python -m bench ingest --sentences 1000000

The benchmark writes JSON Lines into a temporary folder, runs `jobs.ingest` on them as a user would, and compares the
counts. `--files 1 --scaling` reads one large file with one worker and then with all workers, and reports how much
faster all workers are.
"""

import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.harness import Result, temporary_folder
from bench.resources import highest_memory
from bench.running import job, stage_of
from ops.model.load import read_facts
from ops.model.tokenizer import Tokenizer

OF_1000 = {"new": 880, "copy": 80, "short": 30, "broken": 10}
WORDS = 1_000
READ = re.compile(r"ingest: ([\d,]+) of \1 pieces, ")
ALL = 82_000_000


def measure(
    sentences: int = 200_000, files: int = 16, workers: int = os.cpu_count() or 1, scaling: bool = False
) -> Result:  # fmt: skip
    """Write the source and read it.

    Args:
        sentences: lines of the source, a multiple of 1,000.
        files: files over which they are spread.
        workers: workers of the job.
        scaling: read it with one worker first, and compare.
    """
    thousands = sentences // 1_000
    with temporary_folder() as out:
        spread = np.array_split(np.arange(thousands), files)
        with ProcessPoolExecutor(workers) as pool:
            size = sum(pool.map(partial(write_file, out, known_words()), range(files), spread))
        alone = ingest(out, 1) if scaling else None
        found = ingest(out, workers)
    of_1000 = {
        "sentences": 1_000,
        "kept": OF_1000["new"],
        "copies": OF_1000["copy"],
        "rejected": OF_1000["short"] + OF_1000["broken"],
        "not_sampled": 0,
    }
    reasons = {"broken": thousands * OF_1000["broken"], "too_short": thousands * OF_1000["short"]}
    right = {**{name: thousands * count for name, count in of_1000.items()}, "reject_reasons": reasons}
    rate = sentences / found.seconds
    return {
        "sentences": sentences,
        "files": files,
        "source_bytes": size,
        "corpus_bytes": found.room,
        "workers": workers,
        "seconds": round(found.seconds, 1),
        "sentences_per_second": round(rate),
        **(compare(alone, found) if alone else {}),
        "counts_exact": all(run.counts.items() >= right.items() for run in (found, alone or found)),
        "counts": {name: found.counts[name] for name in of_1000},
        "peak_worker_mb": round(found.peak_worker / 1e6),
        "peak_driver_mb": round(found.peak_driver / 1e6),
        "hours_for_82_million_sentences": round(ALL / rate / 3600, 2),
    }


class Ingested(NamedTuple):
    """One run of the job: total seconds, seconds until all was read, counts, bytes of corpus/, and peaks of memory."""

    seconds: float
    read_seconds: float
    counts: dict[str, Any]
    room: int
    peak_worker: int
    peak_driver: int


def ingest(folder: Path, workers: int) -> Ingested:
    """Run the job as a user would, and return its measurements.

    Raises:
        SystemExit: the job failed.
    """
    out, started, read = folder / f"run-{workers}", time.monotonic(), float("nan")
    flags = ("--split", "none", "--on-error", "reject", "--workers", workers, "--shard-size", 100_000)
    process = job("ingest", out, "--corpus", f"made={folder}/*.jsonl", *flags, stderr=subprocess.PIPE, text=True)
    with highest_memory(process.pid) as memory:
        for line in process.stderr or ():
            print(line, end="", file=sys.stderr)
            if READ.match(line):
                read = time.monotonic() - started
        status = process.wait()
    seconds = time.monotonic() - started
    if status:
        raise SystemExit(status)
    room = sum(p.stat().st_size for p in (out / "corpus").iterdir())
    counts = stage_of("ingest", out)["counts"]["sources"][0]
    worker, driver = (
        max((size for name, size in memory.items() if own in name), default=0) for own in ("ray::", "jobs.ingest")
    )
    return Ingested(seconds, read, counts, room, worker, driver)


def compare(alone: Ingested, found: Ingested) -> dict[str, Any]:
    """Return the seconds of reading and of all, with one worker and with all workers."""
    return {
        "one_worker_seconds": [round(alone.read_seconds, 1), round(alone.seconds, 1)],
        "all_workers_seconds": [round(found.read_seconds, 1), round(found.seconds, 1)],
        "reading_over_one_worker": round(alone.read_seconds / found.read_seconds, 3),
        "all_over_one_worker": round(alone.seconds / found.seconds, 3),
    }


def known_words() -> list[str]:
    """Return a thousand words that are one token each to the packaged model."""
    tokenizer = Tokenizer(read_facts("sample"))
    pieces = tokenizer.decode(list(range(1_996, 6_000)))
    return [piece for piece in pieces if piece and piece.isascii() and piece.isalpha() and len(piece) > 3][:WORDS]


def write_file(folder: Path, known: list[str], number: int, thousands: "np.ndarray") -> int:
    """Write one file of the source with a thousand lines for each of `thousands`, and return its bytes."""
    path = folder / f"part-{number:04d}.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for thousand in thousands.tolist():
            rng = np.random.default_rng([7, thousand])
            kinds = rng.permutation(np.repeat(list(OF_1000), list(OF_1000.values())))
            stop = (thousand + 1) * OF_1000["new"]
            new = iter(range(stop - OF_1000["new"], stop))
            for i, kind in enumerate(kinds):
                if kind == "broken":
                    file.write('{"text": "this line ends in the mid\n')
                    continue
                if kind == "short":
                    text = f"{known[i]} {known[-i - 1]}"
                else:
                    text = sentence(known, next(new) if kind == "new" else int(rng.integers(stop)))
                file.write(json.dumps({"text": text, "doc_id": f"d{thousand}-{i // 20}", "topic": known[i % 7]}) + "\n")
    return path.stat().st_size


def sentence(known: list[str], number: int) -> str:
    """Return the sentence of a number: three words that encode it, and about fifteen words that are derived from it."""
    spelled = [known[number // WORDS**power % WORDS] for power in range(3)]
    more = np.random.default_rng([8, number]).integers(0, WORDS, 8 + number % 15)
    return " ".join([*spelled, *(known[i] for i in more)]) + "."
