"""What is done on every machine of a cluster: the copies that mining has made there are removed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.engine.machines import on_every_machine
from ops.sentences.local_copy import _copy, open_sentences
from tests.conftest import ROOT
from tests.unit.small_corpus import Sentence, write_store

PRINT = "a" * 64

# Two machines, which have a folder for copies each, and a driver with a third.
CLUSTER = """
import os, sys
from functools import partial
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "env_vars": {"ATLAS_CACHE": sys.argv[1]}})
cluster.add_node(num_cpus=1, env_vars={"ATLAS_CACHE": sys.argv[2]})
os.environ["RAY_ADDRESS"] = cluster.address
os.environ["ATLAS_CACHE"] = sys.argv[3]
from jobs.engine.machines import on_every_machine
from ops.sentences.local_copy import drop_sentences
on_every_machine(partial(drop_sentences, sys.argv[4]))
print("finished", flush=True)
import ray
ray.shutdown()
cluster.shutdown()
os._exit(0)
"""


def test_without_a_cluster_it_is_done_once_and_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    done: list[int] = []
    on_every_machine(lambda: done.append(os.getpid()))
    assert done == [os.getpid()]


@pytest.mark.faults
def test_the_copies_of_every_machine_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = write_store(tmp_path / "run", [[Sentence(["a"])]])
    caches = [tmp_path / name for name in ("head", "other", "driver")]
    for cache in caches:
        monkeypatch.setenv("ATLAS_CACHE", str(cache))
        open_sentences(store, "codes", PRINT)
        assert _copy(PRINT).exists()
    found = subprocess.run(
        [sys.executable, "-c", CLUSTER, *map(str, caches), PRINT],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert "finished" in found.stdout, found.stdout + found.stderr
    assert [list(folder.iterdir()) for cache in caches for folder in cache.iterdir()] == [[], [], []]
