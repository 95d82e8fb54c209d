"""Counts the requests of every stage of the main job to object storage, and how many of them are sequential.

    python -m bench storage

A proxy in front of a local S3 server counts the requests and delays each of them. The corpus consists of real sentences
with one source file for each shard; the model is a small random BERT, and there are two workers. The stages run one
after another, at two numbers of shards, without and with the delay.

For each stage, the output reports by number of shards: `requests` by method; `waited`, the longest chain of strictly
sequential requests made by the driver; and `seconds` without and with the delay, where the first stage includes the
start of Ray. For all three it reports what an additional shard adds. The driver itself processes steps of a single
item, as all steps are here, so the output also covers the loops of workers. `one_by_one` names the kinds of files of
all shards that the driver requested one after another. The exit status is 1 if there are any, or if a count is wrong.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pyarrow import fs
from transformers import BertConfig

from bench.running import ROOT, load
from bench.storage_server import CREDENTIALS, CountingProxy, Request, by_kind, chain, s3_server
from bench.texts import draw
from jobs.run_folder.run_json import RECORD
from jobs.stage.main import main as main_of_job
from ops.model.random_model import save_random
from ops.storage.lock import LOCK
from ops.storage.store import Store

SHARDS = (8, 32)
SHARD = 40  # number of sentences in a shard
WAIT_MS = 50
STAGES = ("ingest", "topk", "annotate", "mine", "tokens")
WORKERS = 2
MARK = "stage: "
DRIVER = (sys.executable, "-c", "import sys; from bench.storage import drive; sys.exit(drive(*sys.argv[1:]))")
WORDS = range(6, 30)  # allowed numbers of words in a sentence
BESIDE = 1.5  # minimum average number of simultaneous requests
MODEL: dict[str, Any] = {
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 20,
    "max_position_embeddings": 128,
}


class Measured(NamedTuple):
    """One execution of a stage: its seconds from start to end, and all requests."""

    seconds: float
    requests: list[Request]

    def of_driver(self) -> list[Request]:
        """Return the driver's own requests without those of its heartbeat, which run in parallel with the work."""
        return [r for r in self.requests if r.of_driver and not r.path.endswith(f"/{LOCK}")]


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench storage", description=str(__doc__).splitlines()[0])
    parser.add_argument(
        "--shards", type=int, nargs=2, default=list(SHARDS), help="numbers of shards, the smaller first"
    )
    parser.add_argument("--wait", type=float, default=WAIT_MS, help="milliseconds that are added to each request")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=list(STAGES), help="run up to the last of these")
    parser.add_argument("--json", action="store_true", help="accepted by all benchmarks; this one always prints JSON")
    options = parser.parse_args()
    stages = STAGES[: max(map(STAGES.index, options.stages)) + 1]
    few, many = options.shards
    # Requests before the first stage have an empty name.
    found: dict[str, dict[int, dict[float, Measured]]] = {stage: {few: {}, many: {}} for stage in ("", *stages)}
    right = True
    with tempfile.TemporaryDirectory(prefix="atlas-bench-") as name, s3_server() as port, CountingProxy(port) as proxy:
        os.environ |= CREDENTIALS | {"AWS_ENDPOINT_URL": proxy.address, "ATLAS_CACHE": f"{name}/cache"}
        os.environ.pop("AWS_ENDPOINT_URL_S3", None)
        save_random(Path(name) / "model", BertConfig(**MODEL))
        for shards in (few, many):
            for wait in (0.0, options.wait):
                out = f"s3://bench/run-{shards}-{wait:g}"
                put_sources(out, shards)
                for stage, measured in run(out, f"{name}/model", stages, proxy, wait / 1e3).items():
                    found[stage][shards][wait] = measured
                counts = Store(out).read_json(RECORD)["stages"]["ingest"]["counts"]
                right &= counts["shards"] == shards and counts["sentences"] == shards * SHARD
    each = {stage: figures(found[stage], options.wait) for stage in options.stages}
    one_by_one = {stage: own for stage in options.stages if (own := serial(found[stage][many][options.wait], many))}
    result = {"bench": "storage", "shards": [few, many], "wait_ms": options.wait, "stages": each}
    print(json.dumps({**result, "one_by_one": one_by_one, "counts_right": right, "load": load()}))
    return 0 if right and not one_by_one else 1


def put_sources(out: str, shards: int) -> None:
    """Write a source file for each shard, with the sentences of one shard."""
    texts = [text for text in draw(4 * shards * SHARD, seed=0) if len(text.split()) in WORDS]
    system, root = fs.FileSystem.from_uri(f"{out}?allow_bucket_creation=true")
    system.create_dir(root.partition("/")[0])
    for shard in range(shards):
        own = texts[shard * SHARD : (shard + 1) * SHARD]
        with system.open_output_stream(f"{root}-sources/part-{shard:05d}.txt") as file:
            file.write("".join(f"{text}\n" for text in own).encode())


def run(out: str, model: str, stages: Sequence[str], proxy: CountingProxy, wait: float) -> dict[str, Measured]:
    """Run stages one after another in a separate process, with each request delayed by `wait` seconds.

    Raises:
        SystemExit: a stage failed; the status is that of the stage.
    """
    print(f"bench storage: {out}, {wait:g} s added to each request", file=sys.stderr, flush=True)
    found, stage, began = {}, "", 0.0
    proxy.take()
    proxy.wait = wait
    with subprocess.Popen([*DRIVER, out, model, *stages], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        proxy.driver = process.pid
        for line in process.stdout or ():
            if line.startswith(MARK):
                now = time.monotonic()
                found[stage] = Measured(now - began, proxy.take())
                stage, began = line.removeprefix(MARK).strip(), now
    proxy.wait = 0.0
    if process.returncode:
        raise SystemExit(process.returncode)
    return found


def drive(out: str, model: str, *stages: str) -> int:
    """Run stages as their commands do, print when each begins and when all are finished, and return the status."""
    flags = {
        "ingest": ["--corpus", f"docs={out}-sources/*.txt", "--split", "none", "--shard-size", SHARD, "--model", model],
        "topk": ["--model", model, "--k", 5],
    }
    for stage in stages:
        print(f"{MARK}{stage}", flush=True)
        is_folder = (Path(__file__).parent.parent / "jobs" / stage).is_dir()
        module = importlib.import_module(f"jobs.{stage}.job" if is_folder else f"jobs.{stage}")
        argv = [str(word) for word in ("--out", out, "--workers", WORKERS, *flags.get(stage, []))]
        if hasattr(module, "JOB"):
            status: int = module.JOB.main(argv)
        else:
            status = main_of_job(getattr(module, f"{stage.capitalize()}Config"), stage, "", module.run, argv)
        if status:
            return status
    print(MARK, flush=True)
    return 0


def figures(found: dict[int, dict[float, Measured]], wait: float) -> dict[str, Any]:
    """Return the measurements of a stage by number of shards, and how they grow."""
    few, many = found
    total = {shards: len(runs[wait].requests) for shards, runs in found.items()}
    waited = {shards: chain(runs[wait].of_driver()) for shards, runs in found.items()}
    added = {shards: runs[wait].seconds - runs[0.0].seconds for shards, runs in found.items()}
    by_method = {n: dict(sorted(Counter(r.method for r in runs[wait].requests).items())) for n, runs in found.items()}
    seconds = {n: [round(runs[w].seconds, 1) for w in (0.0, wait)] for n, runs in found.items()}

    def slope(values: Mapping[int, float]) -> float:
        return round((values[many] - values[few]) / (many - few), 3)

    return {
        "requests": by_method,
        "requests_a_shard": slope(total),
        "waited": waited,
        "waited_a_shard": slope(waited),
        "seconds": seconds,
        "added_ms_a_shard": round(1e3 * slope(added)),
    }


def serial(found: Measured, shards: int) -> dict[str, dict[str, int]]:
    """Return the kinds of files, with at least one file for each shard, that the driver requested one after another."""
    kinds = {}
    for (method, kind), own in by_kind(found.of_driver()).items():
        waited = chain(own)
        if len({request.path for request in own}) >= shards and len(own) < BESIDE * waited:
            kinds[f"{method} {kind}"] = {"requests": len(own), "waited": waited}
    return kinds


if __name__ == "__main__":
    sys.exit(main())
