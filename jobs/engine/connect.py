"""Joining a cluster or starting Ray on this machine, and what it has room for."""

import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal


def connect(cpus: int) -> None:
    """Join the cluster that RAY_ADDRESS names, or start Ray on this machine with room for `cpus` busy cores."""
    # Ray reads these when it is first imported.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    local = not on_cluster()
    if local:
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    warnings.filterwarnings("ignore", module=r"ray\..*")
    import ray

    if ray.is_initialized():
        return
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if local:
        # By name, or it would join a head that someone runs on this machine.
        options |= {"address": "local", "num_cpus": max(os.cpu_count() or 1, cpus), "include_dashboard": False}
    for attempt in range(3):
        try:
            with _held_back_stderr():
                ray.init(**options)
            return
        except Exception as error:
            # Ray gives its own start 30 seconds, which a busy machine may overrun.
            if "timed out" not in str(error) or not local or attempt == 2:
                raise
            ray.shutdown()


@contextmanager
def _held_back_stderr() -> Iterator[None]:
    """Keep what Ray's start prints below Python to itself, unless the start fails."""
    sys.stderr.flush()
    terminal = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        except BaseException:
            held.seek(0)
            os.write(terminal, held.read())
            raise
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)


def on_cluster() -> bool:
    """Tell whether the jobs run on a cluster that is there already, and not on this machine alone."""
    return bool(os.environ.get("RAY_ADDRESS"))


def has_gpus() -> bool:
    """Tell whether a GPU is available: on this machine, or on the cluster's nodes that are up."""
    if on_cluster():
        return _cluster("GPU") > 0
    import torch

    return bool(torch.cuda.is_available())


def pool_size(asked: int | Literal["auto"], threads: int = 1, gpu: bool = False) -> int:
    """Return the number of workers: as many as asked for, or (`auto`) one a GPU, or one for every `threads` cores."""
    if asked != "auto":
        return asked
    if gpu:
        import torch

        return max(_cluster("GPU") if on_cluster() else torch.cuda.device_count(), 1)
    return max((_cluster("CPU") if on_cluster() else os.cpu_count() or 1) // threads, 1)


def _cluster(resource: str) -> int:
    import ray

    connect(1)
    return int(ray.cluster_resources().get(resource, 0))
