"""Functions that join a cluster or start Ray on this machine, and that say how many workers fit there."""

import logging
import os
import signal
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread, current_thread, main_thread
from typing import Any, Literal
from urllib.parse import urlsplit

import psutil

from jobs.engine.cleaner import start_cleaner
from ops.errors import InputError, one_line

# Memory of a worker before it has any work: Python, Ray, torch and a small model.
WORKER_BYTES = 800_000_000
# The path of a socket may have at most 107 bytes, of which Ray needs up to 67 below its temporary folder.
LONGEST_TEMP, SHORT_TEMP = 40, "/tmp"
OWN_PACKAGES = ["jobs", "ops"]
REACHED_S = 10.0  # seconds after which the head of a cluster counts as unreachable
ALONE = "unset RAY_ADDRESS to work on this machine alone"


def connect(cpus: int) -> None:
    """Join the cluster that RAY_ADDRESS names, or start Ray on this machine with room for `cpus` busy cores.

    Raises:
        InputError: no cluster is at that address, or there is no folder for Ray's sockets.
    """
    # Ray reads these when it is first imported.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # Errors also arrive as exceptions; without this the driver prints warnings about intended settings at every step.
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
        # Variables set in this process reach only the workers on this machine.
        options |= {"runtime_env": {"env_vars": {"TOKENIZERS_PARALLELISM": "false"}}}
        with _held_back_stderr(), _own_sigterm():
            try:
                ray.init(**options)
            except ConnectionError as error:
                raise InputError(f"RAY_ADDRESS {address}: {one_line(error)}; {ALONE}") from error
        return
    # The explicit address is needed, or Ray would join a cluster that already runs on this machine.
    options |= {"address": "local", "num_cpus": max(os.cpu_count() or 1, cpus), "include_dashboard": False}
    # Ray puts the current folder in front of its workers' search path, and a user may have a `jobs/` or `ops/` there.
    # Workers import these before that.
    options["_system_config"] = {"preload_python_modules": OWN_PACKAGES}
    if folder := short_folder():
        options["_temp_dir"] = folder
    start_cleaner()
    for attempt in range(3):
        try:
            with _held_back_stderr(), _own_packages_on_path(), _own_sigterm():
                ray.init(**options)
            return
        except Exception as error:
            # Ray allows 30 seconds for its start, which may not be enough on a busy machine.
            if "timed out" not in str(error) or attempt == 2:
                raise
            ray.shutdown()


def check_address(address: str, seconds: float = REACHED_S) -> None:
    """Refuse an address at which no cluster listens, as Ray would try it for minutes without reacting to signals."""
    if address == "auto":
        return
    try:
        # A host and its port, or those of a Ray client's server; an http:// address is that of the dashboard, which
        # only accepts submitted jobs.
        parsed = urlsplit(address if "://" in address else f"//{address}")
        host, port = parsed.hostname, parsed.port
    except ValueError:
        host = port = None
    if not host or not port or parsed.scheme not in ("", "ray"):
        raise InputError(
            f"RAY_ADDRESS {address}: is not where a job joins a cluster; give its head as host:port, such as "
            f"10.0.0.1:6379, or auto; {ALONE}"
        )
    answers: SimpleQueue[str] = SimpleQueue()

    def knock() -> None:
        reason = ""
        for name in (host, *_own_addresses(host)):
            try:
                socket.create_connection((name, port), seconds).close()
                answers.put("")
                return
            except (OSError, ValueError) as error:
                reason = reason or one_line(getattr(error, "strerror", None) or error)
        answers.put(reason)

    # This runs in another thread, because no timeout can end the look-up of a host name.
    Thread(target=knock, daemon=True).start()
    try:
        refusal = answers.get(timeout=seconds)
    except Empty:
        refusal = f"no answer in {seconds:g} seconds"
    if refusal:
        raise InputError(f"RAY_ADDRESS {address}: no cluster can be reached there ({refusal}); start it, or {ALONE}")


def _own_addresses(host: str) -> list[str]:
    """Return the machine's own addresses, where Ray may listen although its head is named by a loopback address."""
    if host not in ("127.0.0.1", "localhost", "::1"):
        return []
    addresses = []
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing, but makes the system choose its own address
        addresses.append(probe.getsockname()[0])
    with suppress(OSError):
        addresses.append(socket.gethostbyname(socket.gethostname()))
    return addresses


@contextmanager
def _own_sigterm() -> Iterator[None]:
    """Keep what this process does on SIGTERM; Ray's own handler prints a trace and aborts."""
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if callable(handler) and current_thread() is main_thread():
            signal.signal(signal.SIGTERM, handler)


@contextmanager
def _own_packages_on_path() -> Iterator[None]:
    """Let the processes that are started meanwhile find this checkout's packages, if they are not installed."""
    root, before = str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")
    if root in sys.path[1:]:
        yield
        return
    os.environ["PYTHONPATH"] = os.pathsep.join([root, *([before] if before else [])])
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def short_folder() -> str:
    """Return a folder for Ray's files if its usual folder is too long for sockets; otherwise an empty text."""
    name = "RAY_TMPDIR" if "RAY_TMPDIR" in os.environ else "TMPDIR"
    usual = os.environ.get(name, "")
    if len(os.fsencode(usual)) <= LONGEST_TEMP:
        return ""
    if not os.access(SHORT_TEMP, os.W_OK):
        raise InputError(
            f"{name} {usual}: is too long for Ray's sockets, and {SHORT_TEMP} cannot be written; set RAY_TMPDIR to a "
            f"folder whose path has at most {LONGEST_TEMP} bytes"
        )
    return f"{SHORT_TEMP}/ray"


def one_thread_a_worker() -> None:
    """Keep tokenizers from starting a thread per core, as each core has a worker or only one worker was requested."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


@contextmanager
def _held_back_stderr() -> Iterator[None]:
    """Hide what Ray prints at its start outside Python, unless the start fails with an error other than InputError."""
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
    """Tell whether the jobs run on an existing cluster rather than only on this machine.

    A set RAY_ADDRESS means a cluster, even if only one worker is requested. The exception is `local`, which means no
    cluster.
    """
    return os.environ.get("RAY_ADDRESS", "") not in ("", "local")


def stays_here(items: int, workers: int | None) -> bool:
    """Tell whether items are done in this process, because a single worker would only cost its start.

    Args:
        workers: the maximum number of workers; None for as many as there are items.
    """
    return min(workers or items, items) == 1 and not on_cluster()


def pool_size(asked: int | Literal["auto"], threads: int = 1) -> int | None:
    """Return the maximum number of workers of a pool: the requested number, or one for every `threads` cores.

    On a cluster this is None unless a number was requested, because pools request the workers they can use, regardless
    of which machines are up. On one machine it is at most the number of cores, and at most the number of workers that
    fit into memory.
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
    """Return the bytes of memory that this machine or container has left for further processes."""
    left: list[int] = [psutil.virtual_memory().available]
    folder = Path("/sys/fs/cgroup")
    with suppress(OSError, ValueError):
        limit, used = (int((folder / name).read_text()) for name in ("memory.max", "memory.current"))
        counted = (line.split() for line in (folder / "memory.stat").read_text().splitlines())
        # The file cache counts as used memory, but it is freed when memory is needed.
        cached = next((int(value) for name, value in counted if name == "inactive_file"), 0)
        left.append(max(limit - used + cached, 0))
    return min(left)


@cache
def _say_capped(line: str) -> None:
    """Print a line, but only once."""
    print(line, file=sys.stderr)


def gpu_pool_size(asked: int | None) -> int | None:
    """Return the maximum number of GPU workers: as requested, else one per GPU of this machine; None on a cluster."""
    if asked is not None or on_cluster():
        return asked
    import torch

    return max(torch.cuda.device_count(), 1)


def has_gpus() -> bool:
    """Tell whether a GPU is available on this machine, or on the nodes of the cluster that are up."""
    if not on_cluster():
        import torch

        return bool(torch.cuda.is_available())
    import ray

    connect(1)
    return bool(ray.cluster_resources().get("GPU", 0) > 0)
