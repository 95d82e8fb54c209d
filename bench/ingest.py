"""Ingest of a synthetic source whose every count is known: speed, memory of a worker, and that the counts are exact.

    python -m bench ingest --sentences 1000000

Writes JSON Lines into a temporary folder, runs `jobs.ingest` on them as a user would, and compares what it counted.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from bench.memory import MemoryWatch
from ops.model.load import read_facts
from ops.model.tokenizer import Tokenizer

ROOT = Path(__file__).parent.parent
OF_1000 = {"new": 880, "copy": 80, "short": 30, "broken": 10}
WORDS = 1_000
ALL = 82_000_000


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench ingest", description=str(__doc__).splitlines()[0])
    parser.add_argument("--sentences", type=int, default=200_000, help="lines of the source, a multiple of 1,000")
    parser.add_argument("--files", type=int, default=16, help="files that they are spread over")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--folder", default=None, help="where the temporary folder is made")
    parser.add_argument("--json", action="store_true", help="accepted for all benchmarks; the output is JSON anyway")
    options = parser.parse_args()
    thousands = options.sentences // 1_000
    with tempfile.TemporaryDirectory(prefix="atlas-bench-", dir=options.folder) as folder:
        spread = np.array_split(np.arange(thousands), options.files)
        with ProcessPoolExecutor(options.workers) as pool:
            size = sum(pool.map(partial(write_file, Path(folder), words()), range(len(spread)), spread))
        out = Path(folder) / "run"
        command = [
            sys.executable, "-m", "jobs.ingest", "--out", str(out), "--corpus", f"made={folder}/*.jsonl",
            "--split", "none", "--on-error", "reject", "--workers", str(options.workers), "--shard-size", "100000",
        ]  # fmt: skip
        started = time.monotonic()
        process = subprocess.Popen(command, cwd=ROOT)
        with MemoryWatch(process.pid) as memory:
            status = process.wait()
        seconds = time.monotonic() - started
        if status:
            return status
        record = json.loads((out / "run.json").read_text())
        counts = record["stages"]["ingest"]["counts"]["sources"][0]
        room = sum(p.stat().st_size for p in (out / "corpus").iterdir())
    expected = {
        "sentences": thousands * 1_000,
        "kept": thousands * OF_1000["new"],
        "copies": thousands * OF_1000["copy"],
        "rejected": thousands * (OF_1000["short"] + OF_1000["broken"]),
        "not_sampled": 0,
    }
    found = {name: counts[name] for name in expected}
    reasons = {"broken": thousands * OF_1000["broken"], "too_short": thousands * OF_1000["short"]}
    exact = found == expected and counts["reject_reasons"] == reasons
    rate = options.sentences / seconds
    print(
        json.dumps(
            {
                "bench": "ingest",
                "sentences": options.sentences,
                "source_bytes": size,
                "corpus_bytes": room,
                "workers": options.workers,
                "seconds": round(seconds, 1),
                "sentences_per_second": round(rate),
                "counts_exact": exact,
                "counts": found,
                "peak_worker_mb": round(memory.peak("ray::") / 1e6),
                "peak_driver_mb": round(memory.peak("jobs.ingest") / 1e6),
                "hours_for_82_million_sentences": round(ALL / rate / 3600, 2),
            }
        )
    )
    return 0 if exact else 1


def words() -> list[str]:
    """Return a thousand words that are one token each to the packaged model."""
    tokenizer = Tokenizer(read_facts("sample"))
    pieces = tokenizer.decode(list(range(1_996, 6_000)))
    return [piece for piece in pieces if piece and piece.isascii() and piece.isalpha() and len(piece) > 3][:WORDS]


def write_file(folder: Path, known: list[str], number: int, thousands: "np.ndarray") -> int:
    """Write one file of the source, some thousands of lines, and return its bytes."""
    path = folder / f"part-{number:04d}.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for thousand in thousands.tolist():
            rng = np.random.default_rng([7, thousand])
            kinds = rng.permutation(np.repeat(list(OF_1000), list(OF_1000.values())))
            new = iter(range(thousand * OF_1000["new"], (thousand + 1) * OF_1000["new"]))
            stop = (thousand + 1) * OF_1000["new"]
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
    """Return the sentence of a number: three words that spell it, and fifteen or so that follow from it."""
    spelled = [known[number // WORDS**power % WORDS] for power in range(3)]
    more = np.random.default_rng([8, number]).integers(0, WORDS, 8 + number % 15)
    return " ".join([*spelled, *(known[i] for i in more)]) + "."


if __name__ == "__main__":
    sys.exit(main())
