"""Measures the memory to write a shard's partial file at full size, and the requests to read it from object storage.

    python -m bench partial_file --neurons 36864

The file has the same number of neurons as bert-base at `--site mlp`, with K = 10,000 and both poles. All winners so far
are in this shard, which is the maximum that a shard can return. `write` reports the highest additional memory while the
file is built and written, next to the bytes of one part's winners and of all winners. `read` reports requests and
seconds for a local S3 server with a delay added to each request: for the footer alone, for one part of the neurons as
the merge reads it, for all histograms, and for the activation sample. The exit status is 1 if writing takes too much
memory, if reading all neurons takes more than one request after the footer, or if the data read differs from the data
written.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from bench.filled_top_k import filled_top_k
from bench.running import load, resident
from bench.storage_server import CREDENTIALS, CountingProxy, s3_server
from ops.model.activations import Scorer
from ops.reducers.histogram import edges_from_pilot
from ops.reducers.moments import Moments
from ops.storage.store import Store
from ops.topk.neurons import NEURONS_PER_PART, POLES
from ops.topk.partial_file import HISTOGRAM, MERGED_COLUMNS, ShardRows, read_counts, read_matrix, read_of_all
from ops.topk.score_shard import ShardScorer
from ops.topk.shard_sums import ShardTotals

NEURONS, K, SAMPLED, SHARD, WAIT_MS = 36_864, 10_000, 12, 100_000, 50
READ_K = 100  # K of the file that is read, since the number of winners does not change the requests
PAIR_BYTES = 12  # bytes of an activation and an id
PARTS = 16  # writing may take the bytes of this many parts' winners, which are decoded, put in a table, and encoded
FILE = "shard.parquet"


class NoModel:
    """A replacement for a model, of which only the device, the layers and `sparse` are used."""

    device = torch.device("cpu")
    layers = (1,)
    sparse = False


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench partial_file", description=str(__doc__).splitlines()[0])
    parser.add_argument("--neurons", type=int, default=NEURONS)
    parser.add_argument("--k", type=int, default=K)
    parser.add_argument("--sampled", type=int, default=SAMPLED, help="sentences of the activation sample in the shard")
    parser.add_argument("--wait", type=float, default=WAIT_MS, help="milliseconds that are added to each request")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="accepted by all benchmarks; this one always prints JSON")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows, _ = shard(options.neurons, options.k, options.sampled, options.seed)
    with tempfile.TemporaryDirectory(prefix="atlas-bench-") as folder:
        path = f"{folder}/{FILE}"
        written = write(rows, path)
        part = len(POLES) * NEURONS_PER_PART * options.k * PAIR_BYTES
        written |= {"part_mb": round(part / 1e6), "all_mb": round(part / 1e6 * options.neurons / NEURONS_PER_PART)}
        print(f"bench partial_file: {json.dumps(written)}", file=sys.stderr, flush=True)
        rows, totals = shard(options.neurons, min(options.k, READ_K), options.sampled, options.seed)
        rows.write(path, {})
        read, right = read_all(path, totals, options.wait / 1e3)
    small = written["added_mb"] <= PARTS * max(written["part_mb"], 20)
    once = all(read[name]["requests"] == read["footer"]["requests"] + 1 for name in ("histograms", "sample", "part"))
    found = {"bench": "partial_file", "neurons": options.neurons, "k": options.k, "wait_ms": options.wait}
    print(json.dumps({**found, "write": written, "read": read, "right": right, "load": load()}))
    return 0 if small and once and right else 1


def copyfile(source: str, target: str) -> None:
    """Copy a file."""
    shutil.copyfile(source, target)


def shard(neurons: int, k: int, sampled: int, seed: int) -> tuple[ShardRows, ShardTotals]:
    """Return the rows of a shard with all winners so far, the same for both poles, and the shard's synthetic sums."""
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    edges = edges_from_pilot(torch.randn(4_000, 1, generator=generator)).expand(neurons, -1)
    scorer = ShardScorer(cast(Scorer, NoModel()), 1, POLES, edges)
    scorer.winners = dict.fromkeys(POLES, filled_top_k(neurons, k, SHARD, seed=seed))
    moments = Moments.of(torch.randn(64, neurons, generator=generator))
    totals = ShardTotals(moments, rng.poisson(SHARD / (edges.shape[1] + 1), (neurons, edges.shape[1] + 1)))
    totals.kept = {i: rng.normal(size=neurons).astype(np.float32) for i in range(sampled)}
    return scorer.rows_of((0, SHARD), totals), totals


def write(rows: ShardRows, path: str) -> dict[str, Any]:
    """Write a shard's file, and return the time and memory that this took."""
    Path("/proc/self/clear_refs").write_text("5")  # resets the recorded highest memory
    before, started = resident()["VmRSS"], time.process_time()
    rows.write(path, {})
    seconds, after = time.process_time() - started, resident()["VmHWM"]
    return {
        "added_mb": round((after - before) / 1e6),
        "before_mb": round(before / 1e6),
        "seconds": round(seconds, 2),
        "file_mb": round(os.path.getsize(path) / 1e6),
    }


def read_all(path: str, totals: ShardTotals, wait: float) -> tuple[dict[str, Any], bool]:
    """Read the file from object storage in every way that topk does; return the measurements, and whether data agree.

    Args:
        path: the local path of the file.
        totals: the sums from which the file was written.
        wait: seconds of delay that are added to each request.
    """
    sample = np.array([totals.kept[i] for i in sorted(totals.kept)])
    with s3_server() as port, CountingProxy(port) as proxy:
        os.environ |= CREDENTIALS | {"AWS_ENDPOINT_URL": proxy.address}
        store = Store("s3://bench/run?allow_bucket_creation=true")
        store.filesystem.create_dir("bench")
        store.commit(FILE, partial(copyfile, path))

        def part() -> Any:
            with store.parquet(FILE) as file:
                return file.read_row_groups([1], columns=MERGED_COLUMNS)

        ways: dict[str, Callable[[], Any]] = {
            "footer": lambda: store.parquet(FILE).close(),
            "part": part,
            "histograms": lambda: read_counts(read_of_all(store, FILE, HISTOGRAM)),
            "sample": lambda: read_matrix(read_of_all(store, FILE, "sample"), "sample"),
        }
        proxy.wait, figures, found = wait, {}, {}
        for name, read in ways.items():
            proxy.take()
            started = time.monotonic()
            found[name] = read()
            seconds = time.monotonic() - started
            figures[name] = {"requests": len(proxy.take()), "seconds": round(seconds, 3)}
        proxy.wait = 0.0
    own = slice(NEURONS_PER_PART, 2 * NEURONS_PER_PART)
    right = np.array_equal(read_counts(found["part"]), totals.histogram[own])
    right &= np.array_equal(found["histograms"], totals.histogram) and np.array_equal(found["sample"], sample.T)
    return figures, bool(right)


if __name__ == "__main__":
    sys.exit(main())
