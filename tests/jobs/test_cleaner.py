"""However a job on this machine's own Ray ends, none of its processes is left."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.resources import descendants
from tests.conftest import ROOT
from tests.jobs.broken_site import broken_site
from tests.jobs.processes import committed, end_all, is_alive, start_job, wait_until
from tests.jobs.scoring import options

PATIENCE_S = 60.0
STARTER = """
import os, subprocess, sys
from jobs.engine.cleaner import start_cleaner
start_cleaner()
folder = f"{sys.argv[1]}/session_2026-01-02_03-04-05_678901_{os.getpid()}/logs"
os.makedirs(folder)
for name, mode in (("worker.out", "a"), ("worker.out", "r")):
    with open(f"{folder}/{name}", mode) as file:
        print(subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL, stdin=file).pid, flush=True)
os._exit(1)
"""


def gone(pids: list[int]) -> bool:
    until = time.monotonic() + PATIENCE_S
    while any(map(is_alive, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    return not any(map(is_alive, pids))


def test_what_writes_a_log_of_the_ray_of_an_ended_process_is_killed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STARTER, tmp_path], cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=60, check=False
    )
    writer, reader = map(int, done.stdout.split())
    try:
        assert gone([writer])
        assert is_alive(reader)
    finally:
        end_all(lambda: [pid for pid in (writer, reader) if is_alive(pid)])


@pytest.mark.faults
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_outlives_a_job_even_if_a_worker_does_not_notice_its_end(
    tmp_path: Path, source: Path, make_model: Callable[..., Path], small_bert: object, end: signal.Signals
) -> None:
    out, log = tmp_path / "out", tmp_path / "log"
    given = tmp_path / "given.yaml"
    given.write_text(json.dumps(options(out, source, make_model(small_bert))))
    process = start_job("topk", log, "--config", given, **broken_site(tmp_path))
    pids = [process.pid]
    try:
        wait_until(lambda: len(committed(out / "_partials" / "topk", "shard-*")) >= 2, process, log)
        names = {pid: name for pid, name, _ in descendants(process.pid)}
        pids += names
        # A worker that is stopped can no longer end by itself.
        os.kill(next(pid for pid, name in names.items() if "MapBatches(ShardWorker)" in name), signal.SIGSTOP)
        process.send_signal(end)
        status = process.wait(timeout=PATIENCE_S)
        assert status == (143 if end == signal.SIGTERM else -end), log.read_text()
        assert gone(pids)
    finally:
        end_all(lambda: [pid for pid in pids if is_alive(pid)])
