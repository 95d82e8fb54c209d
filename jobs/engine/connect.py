"""Joining a cluster or starting Ray on this machine, and what it has room for."""

import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ops.cluster_address import ALONE, check_address
from ops.errors import InputError, one_line

# What a worker takes before it has any work: Python, Ray, torch and a small model.
WORKER_BYTES = 800_000_000


def connect(cpus: int) -> None:
    """Join the cluster that RAY_ADDRESS names, or start Ray on this machine with room for `cpus` busy cores.

    Raises:
        InputError: no cluster is at that address.
    """
    # Ray reads these when it is first imported.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # What goes wrong comes as an exception too; without this the driver warns at every step of what we asked for.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    local = not on_cluster()
    one_thread_a_worker()
    warnings.filterwarnings("ignore", module=r"ray\..*")
    import ray

    if ray.is_initialized():
        return
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if not local:
        address = os.environ["RAY_ADDRESS"]
        check_address(address)
        # What is set in this process reaches workers of this machine alone.
        options |= {"runtime_env": {"env_vars": {"TOKENIZERS_PARALLELISM": "false"}}}
        with _held_back_stderr():
            try:
                ray.init(**options)
            except ConnectionError as error:
                raise InputError(f"RAY_ADDRESS {address}: {one_line(error)}; {ALONE}") from error
        return
    # By name, or it would join a head that someone runs on this machine.
    options |= {"address": "local", "num_cpus": max(os.cpu_count() or 1, cpus), "include_dashboard": False}
    for attempt in range(3):
        try:
            with _held_back_stderr():
                ray.init(**options)
            return
        except Exception as error:
            # Ray gives its own start 30 seconds, which a busy machine may overrun.
            if "timed out" not in str(error) or attempt == 2:
                raise
            ray.shutdown()


def one_thread_a_worker() -> None:
    """Keep tokenizers from starting a thread for each core: there is a worker for each, or one alone was asked for."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


@contextmanager
def _held_back_stderr() -> Iterator[None]:
    """Keep what Ray's start prints below Python to itself, unless the start fails and no line of ours says why."""
    sys.stderr.flush()
    terminal = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        except InputError:
            raise
        except BaseException:
            held.seek(0)
            os.write(terminal, held.read())
            raise
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)


def on_cluster() -> bool:
    """Tell whether the jobs run on a cluster that already exists, and not on this machine alone.

    A set RAY_ADDRESS means a cluster, also where one worker is asked for; but for `local`, Ray's word for none.
    """
    return os.environ.get("RAY_ADDRESS", "") not in ("", "local")


def stays_here(items: int, workers: int | None) -> bool:
    """Tell whether items stay in this process: one worker on this machine gains nothing elsewhere but its start.

    Args:
        items: how many.
        workers: most workers; None for as many as there are items.
    """
    return min(workers or items, items) == 1 and not on_cluster()


def pool_size(asked: int | Literal["auto"], threads: int = 1) -> int | None:
    """Return the most workers of a pool: as many as asked for, or one for every `threads` cores of this machine.

    On a cluster None, unless a number was asked for: its pools ask for what they can use, and nothing counts the
    machines that happen to be up. On one machine more than its cores would only take memory, and are not started; nor
    are more than its memory has room for.
    """
    if on_cluster():
        return None if asked == "auto" else asked
    cores = os.cpu_count() or 1
    room = max(available_bytes() // WORKER_BYTES, 1)
    wanted = max(cores // threads, 1) if asked == "auto" else asked
    started = min(wanted, cores, room)
    if started < wanted:
        why = f"{cores} cores" if cores <= room else f"room for {room} in its memory"
        _say_capped(f"--workers {wanted}: this machine has {why}, so {started} are started")
    return started


def available_bytes() -> int:
    """Return the bytes of memory that this machine, or the container that this is, has for further processes.

    Where neither says it (outside Linux) that is more than any.
    """
    found = [1 << 60]
    with suppress(OSError, ValueError, StopIteration), open("/proc/meminfo", encoding="ascii") as file:
        found.append(1024 * next(int(line.split()[1]) for line in file if line.startswith("MemAvailable:")))
    folder = Path("/sys/fs/cgroup")
    with suppress(OSError, ValueError):
        limit, used = (int((folder / name).read_text()) for name in ("memory.max", "memory.current"))
        counted = (line.split() for line in (folder / "memory.stat").read_text().splitlines())
        # The cache of files counts as used, and is given up where memory is wanted.
        cached = next((int(value) for name, value in counted if name == "inactive_file"), 0)
        found.append(max(limit - used + cached, 0))
    return min(found)


@cache
def _say_capped(line: str) -> None:
    """Say it once."""
    print(line, file=sys.stderr)


def gpu_pool_size(asked: int | None) -> int | None:
    """Return the most workers that hold a GPU: as many as asked for, all of this machine, or on a cluster None."""
    if asked is not None or on_cluster():
        return asked
    import torch

    return max(torch.cuda.device_count(), 1)


def has_gpus() -> bool:
    """Tell whether a GPU is available: on this machine, or on the cluster's nodes that are up."""
    if not on_cluster():
        import torch

        return bool(torch.cuda.is_available())
    import ray

    connect(1)
    return bool(ray.cluster_resources().get("GPU", 0) > 0)
