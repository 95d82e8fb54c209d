"""Locks a run for one job at a time, by a file with a heartbeat, on any file system."""

import contextlib
import fcntl
import os
import socket
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa

from ops.clock import utc_now
from ops.errors import InputError, LostRunError
from ops.storage.store import Store

LOCK = "_lock.json"
BEAT_S = 5.0  # seconds between two heartbeats
DEAD_S = 30.0  # seconds without a heartbeat after which a holder on another machine counts as dead
SETTLE_S = 1.0  # seconds after which a job checks whose lock remained, if two jobs could write at the same time


class HeldError(InputError):
    """Raised if a running job holds the lock of a run."""


class Lock:
    """A lock that holds a run for one job of this process, with a heartbeat every few seconds, until it is released.

    A holder on this machine counts as dead if its process no longer exists. A holder on another machine counts as dead
    if its lock file has not changed for `dead_s` seconds on this machine's clock. The clocks of the two machines are
    never compared.
    """

    def __init__(self, store: Store, work: str) -> None:
        self.store, self.token = store, uuid.uuid4().hex
        self._said = {
            "token": self.token, "work": work, "since": utc_now(), "host": socket.gethostname(), "place": _place(),
            "pid": os.getpid(), "started": _started(os.getpid()),
        }  # fmt: skip
        self.beat_s, self.dead_s = BEAT_S, DEAD_S
        self._beats = 0
        self._ended = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="atlas-lock", daemon=True)

    def take(self) -> None:
        """Take the lock, if necessary from a dead holder, and keep writing heartbeats.

        Raises:
            HeldError: a running job holds the run.
        """
        dead: str | None = None
        while True:
            with _alone(self.store) as alone:
                held = read_lock(self.store)
                if held is None or held["token"] == dead or _is_gone(held):
                    self._write()
                    break
            if _is_here(held):
                raise HeldError(self._held_by(held))
            dead = self._watch(held)
        if not alone:
            time.sleep(SETTLE_S)
            held = read_lock(self.store)
            if held is not None and held["token"] != self.token:
                raise HeldError(self._held_by(held))
        self._keeper.start()

    def release(self) -> None:
        """Release the lock that was taken, if this job still holds it."""
        self._ended.set()
        self._keeper.join(self.dead_s)  # on object storage its last heartbeat may be on its way
        with contextlib.suppress(OSError, pa.ArrowException), _alone(self.store):
            held = read_lock(self.store)
            if held is not None and held["token"] == self.token:
                self.store.delete(LOCK)

    def _watch(self, held: dict[str, Any]) -> str | None:
        """Return a holder's token once it counts as dead, or None if the lock was released or has another holder."""
        who = f"process {held['pid']} on {held['host']}"
        print(
            f"the run is held by {who}: checking for {self.dead_s:.0f} s whether it is still running", file=sys.stderr
        )
        until = time.monotonic() + self.dead_s
        while time.monotonic() < until:
            time.sleep(min(1.0, self.dead_s / 10))
            now = read_lock(self.store)
            if now is None or now["token"] != held["token"]:
                return None
            if now["beat"] != held["beat"]:
                raise HeldError(self._held_by(held))
        return str(held["token"])

    def _held_by(self, held: dict[str, Any]) -> str:
        return (
            f"--out {self.store.uri}: another job holds this run: {held.get('work', 'a job')}, process {held['pid']} "
            f"on {held['host']}, since {held.get('since', 'unknown')}; wait for it, or end it"
        )

    def _write(self) -> None:
        self._beats += 1
        self.store.write_json(LOCK, {**self._said, "beat": self._beats})

    def _keep(self) -> None:
        while not self._ended.wait(self.beat_s):
            # A heartbeat that fails is tried again at the next interval; `dead_s` is several intervals long.
            with contextlib.suppress(OSError, pa.ArrowException), _alone(self.store):
                if self._ended.is_set():
                    return
                held = read_lock(self.store)
                if held is None:
                    continue  # another job took the run over and released it, or the folder was deleted
                if held["token"] == self.token:
                    self._write()
                elif _is_here(held) and held["pid"] == os.getpid():
                    return
                else:
                    print(f"error: {lost(self.store, held)}", file=sys.stderr, flush=True)
                    os._exit(1)


def check_holder(store: Store, token: str) -> None:
    """Check that the job with this token still holds the run.

    Raises:
        LostRunError: another job holds the run, or no job does.
    """
    held = read_lock(store)
    if held is None or held["token"] != token:
        raise LostRunError(lost(store, held))


def lost(store: Store, held: dict[str, Any] | None) -> str:
    """Return the message that a job has lost its run."""
    by = f"was taken over by process {held['pid']} on {held['host']}" if held else "was given back"
    return f"--out {store.uri}: {by}; this job will not write any tables"


def read_lock(store: Store) -> dict[str, Any] | None:
    """Return the content of the run's lock file; None if there is no lock file or it cannot be understood."""
    try:
        held = store.read_json(LOCK)
    except (FileNotFoundError, InputError):
        return None
    return held if isinstance(held, dict) and {"token", "pid", "host", "place", "beat"} <= held.keys() else None


def _place() -> str:
    """Return a text that identifies this machine or container, since process ids are only valid within one."""
    boot, space = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    # The time of the boot changes with the clock, so it is only used where the system does not number its boots.
    booted = boot.read_text().strip() if boot.exists() else f"{psutil.boot_time():.0f}"
    return f"{socket.gethostname()} {booted} {os.readlink(space) if space.exists() else ''}"


def _is_here(held: dict[str, Any]) -> bool:
    return bool(held["place"] == _place())


def _is_gone(held: dict[str, Any]) -> bool:
    """Return whether a holder is a dead process of this machine, or this process itself, which restarts its job."""
    if not _is_here(held):
        return False
    pid = int(held["pid"])
    try:
        return pid == os.getpid() or _started(pid) != held.get("started")
    except psutil.AccessDenied:  # another user's process, which may not be looked at, but lives
        return False


def _started(pid: int) -> str:
    """Return the start time of a running process of this machine, which differs for a later one with the same id."""
    try:
        process = psutil.Process(pid)
        # A zombie, whose parent has not yet collected its exit status, counts as ended.
        if process.status() == psutil.STATUS_ZOMBIE:
            return ""
        # Seconds since the boot: the time of day changes when the clock is set.
        return f"{process.create_time() - psutil.boot_time():.2f}"
    except psutil.NoSuchProcess:
        return ""


@contextlib.contextmanager
def _alone(store: Store) -> Iterator[bool]:
    """Keep other jobs on this file system from accessing the lock in this context; yield whether that is possible."""
    folder = None
    try:
        if store.local:
            folder = os.open(store.root, os.O_RDONLY)
            fcntl.flock(folder, fcntl.LOCK_EX)
    except OSError:
        # Some network file systems cannot lock folders.
        yield False
        return
    else:
        yield folder is not None
    finally:
        if folder is not None:
            os.close(folder)
