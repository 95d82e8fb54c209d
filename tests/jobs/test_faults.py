"""What goes wrong on the way leaves the same rows: killed workers, lost nodes, full disks, damaged files."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bench.resources import descendants
from jobs.stage.outputs import shard_file
from tests.conftest import ROOT
from tests.jobs.broken_site import broken_site
from tests.jobs.processes import Process, committed, start_job, wait_until
from tests.jobs.scoring import SHARDS, assert_same, options, score

Scored = tuple[Path, Path, Path]


@pytest.fixture(scope="module")
def scored(
    tmp_path_factory: pytest.TempPathFactory,
    source: Path,
    make_model: Callable[..., Path],
    small_bert: object,
) -> Scored:
    """A run without any fault, its partial files kept; its source and model."""
    model = make_model(small_bert)
    return score(tmp_path_factory.mktemp("runs") / "sound", source, model, keep_partials=True), source, model


def reopened(scored: Scored, out: Path) -> Path:
    """A copy of the run as it was before the merge."""
    shutil.copytree(scored[0], out)
    for table in ("topk", "topk_by_dataset", "neurons", "activations", "unscored"):
        shutil.rmtree(out / table)
    record = json.loads((out / "run.json").read_text())
    record["stages"]["topk"]["complete"] = False
    (out / "run.json").write_text(json.dumps(record))
    return out


def handed_over(out: Path) -> int:
    files = [pq.read_table(out / shard_file("topk", shard).path) for shard in range(SHARDS)]
    return sum(len(t[f"{pole}_sent_id"].combine_chunks().flatten()) for t in files for pole in ("top", "bottom"))


def test_shared_thresholds_make_workers_hand_over_less(scored: Scored, tmp_path: Path) -> None:
    _, source, model = scored
    alone = score(tmp_path / "alone", source, model, keep_partials=True, no_sharing=True)
    together = score(tmp_path / "together", source, model, keep_partials=True)
    assert_same(alone, scored[0])
    assert_same(together, scored[0])
    assert handed_over(together) < handed_over(alone)


def test_thresholds_shared_or_not_or_lost_give_the_same_rows(scored: Scored, tmp_path: Path) -> None:
    _, source, model = scored
    alone = score(tmp_path / "alone", source, model, keep_partials=True, no_sharing=True)
    assert_same(alone, scored[0])
    assert not (alone / "_partials" / "topk" / "bound.parquet").exists()
    posted = pq.read_table(scored[0] / "_partials" / "topk" / "bound.parquet")
    assert posted["0"].to_numpy().max() < float("inf")
    again = reopened(scored, tmp_path / "again")
    for shard in range(3, SHARDS):
        (again / shard_file("topk", shard).path).unlink()
    # A bound that another run posted, or half a file, is no bound; nor is a place where none can be posted.
    bound = again / "_partials" / "topk" / "bound.parquet"
    bound.unlink()
    bound.mkdir()
    assert_same(score(again, source, model), scored[0])


@pytest.mark.parametrize("where", ["pages", "sample", "footer"])
def test_a_damaged_partial_file_is_named_and_done_again(
    scored: Scored, tmp_path: Path, where: str, capfd: pytest.CaptureFixture[str]
) -> None:
    out = reopened(scored, tmp_path / "out")
    path = out / shard_file("topk", 5).path
    data = bytearray(path.read_bytes())
    with pq.ParquetFile(path) as file:
        group = file.metadata.row_group(0)
        of_all = file.metadata.row_group(file.num_row_groups - 1)
        columns = [of_all.column(i) for i in range(of_all.num_columns)]
        (sample,) = [column for column in columns if column.path_in_schema.startswith("sample")]
        pages = {"pages": group.column(0), "sample": sample}
        # The last bytes of a column are values.
        ends = {name: own.data_page_offset + own.total_compressed_size for name, own in pages.items()}
        place = ends[where] - 3 if where in pages else len(data) - 6
    data[place] ^= 0xFF
    path.write_bytes(data)
    intact = (out / shard_file("topk", 4).path).stat().st_mtime_ns
    assert_same(score(out, scored[1], scored[2], keep_partials=True), scored[0])
    said = capfd.readouterr().err
    assert ("shard-00005.parquet is damaged" in said) == (where in pages)
    assert f"{SHARDS - 1} of {SHARDS} shards were already done" in said
    assert (out / shard_file("topk", 4).path).stat().st_mtime_ns == intact


def start(out: Path, scored: Scored, log: Path, **env: str) -> Process:
    given = options(out, scored[1], scored[2], keep_partials=True)
    file = out.with_suffix(".yaml")
    file.write_text(json.dumps(given))
    return start_job("topk", log, "--config", file, **env)


def shards_of(out: Path) -> int:
    return len(committed(out / "_partials" / "topk", "shard-*"))


@pytest.mark.faults
@pytest.mark.parametrize("fault", ["killed before", "killed after"])
def test_a_worker_killed_around_its_commit(scored: Scored, tmp_path: Path, fault: str) -> None:
    log = tmp_path / "log"
    process = start(tmp_path / "out", scored, log, **broken_site(tmp_path, fault, 5))
    assert process.wait(timeout=240) == 0, log.read_text()
    assert (tmp_path / "count").stat().st_size > SHARDS, "no shard was done again: there was no fault"
    assert_same(tmp_path / "out", scored[0])


@pytest.mark.faults
def test_a_full_disk_under_a_worker_and_then_room_again(scored: Scored, tmp_path: Path) -> None:
    out, log = tmp_path / "out", tmp_path / "log"
    process = start(out, scored, log, **broken_site(tmp_path, "full", 4))
    assert process.wait(timeout=240) == 1, log.read_text()
    last = log.read_text().strip().splitlines()[-1]
    assert last.startswith("error: no space left at ")
    assert "Traceback" not in log.read_text()
    done = shards_of(out)
    assert 0 < done < SHARDS
    assert start(out, scored, log).wait(timeout=240) == 0, log.read_text()
    assert f"{done} of {SHARDS} shards were already done" in log.read_text()
    assert_same(out, scored[0])


@pytest.mark.faults
@pytest.mark.parametrize("killed", ["raylet/raylet", "gcs/gcs_server"])
def test_a_ray_that_is_gone_ends_the_job_and_the_same_command_goes_on(
    scored: Scored, tmp_path: Path, killed: str
) -> None:
    out, log = tmp_path / "out", tmp_path / "log"
    process = start(out, scored, log, **broken_site(tmp_path))
    wait_until(lambda: shards_of(out) >= 2, process, log)
    victims = [pid for pid, name, _ in descendants(process.pid) if killed in name]
    assert len(victims) == 1
    os.kill(victims[0], signal.SIGKILL)
    done = shards_of(out)
    assert done < SHARDS - 2, "the kill came too late to show anything"
    assert process.wait(timeout=150) == 1, log.read_text()  # a minute, where the machine is not busy
    last = log.read_text().strip().splitlines()[-1]
    assert last.startswith("error: ")
    assert "give the same command again" in last
    assert "Traceback" not in log.read_text()
    assert start(out, scored, log).wait(timeout=240) == 0, log.read_text()
    assert_same(out, scored[0])


NODES = """
import json, os, sys, threading, time
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
other = cluster.add_node(num_cpus=1)
os.environ["RAY_ADDRESS"] = cluster.address
from jobs.topk import job as topk
options = json.load(open(sys.argv[1]))
def lose():
    folder = os.path.join(options["out"], "_partials", "topk")
    while not os.path.isdir(folder) or sum(n.startswith("shard-") for n in os.listdir(folder)) < 3:
        time.sleep(0.02)
    cluster.remove_node(other, allow_graceful=False)
    print("removed at", sum(n.startswith("shard-") for n in os.listdir(folder)), flush=True)
threading.Thread(target=lose, daemon=True).start()
topk.JOB.run(topk.TopkConfig.model_validate(options))
print("finished", flush=True)
import ray
ray.shutdown()
cluster.shutdown()
os._exit(0)  # Ray's own end takes the lost node for a failure
"""


@pytest.mark.faults
def test_a_node_removed_in_the_middle(scored: Scored, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (tmp_path / "options.json").write_text(json.dumps(options(out, scored[1], scored[2])))
    (tmp_path / "nodes.py").write_text(NODES)
    site = broken_site(tmp_path)
    site["PYTHONPATH"] += os.pathsep + str(ROOT)
    found = subprocess.run(
        [sys.executable, str(tmp_path / "nodes.py"), str(tmp_path / "options.json")],
        cwd=ROOT, env={**os.environ, **site}, capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout + found.stderr
    assert "finished" in found.stdout
    removed = int(found.stdout.split("removed at")[1].split()[0])
    assert removed < SHARDS - 2, "the node went too late to show anything"
    assert_same(out, scored[0])
