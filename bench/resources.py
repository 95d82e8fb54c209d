"""Measures what work needs: time by the clock and by the processor, memory, and the bytes that torch moves."""

import math
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import psutil
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

EVERY_S = 1.0
T = TypeVar("T")


class Seconds(NamedTuple):
    """The seconds that something took: by the clock, and of this process's processor time."""

    clock: float
    processor: float


def timed(work: Callable[..., T], *given: Any) -> tuple[Seconds, T]:
    """Call a function, and return its seconds and its result."""
    clock, processor = time.perf_counter(), time.process_time()
    result = work(*given)
    return Seconds(time.perf_counter() - clock, time.process_time() - processor), result


def repeated(work: Callable[[], T], rounds: int) -> tuple[list[Seconds], T]:
    """Call a function once without counting, which compiles what it uses, and then `rounds` times.

    Returns:
        The seconds of each counted round, and the last result.
    """
    work()
    each = [timed(work) for _ in range(rounds)]
    return [seconds for seconds, _ in each], each[-1][1]


def interleaved(work: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[Seconds]]:
    """Return the seconds of each function in each round, after one round that is not counted.

    Each round calls all functions in turn, so that other load on the machine changes their ratio little.
    """
    each = [{name: timed(function)[0] for name, function in work.items()} for _ in range(rounds + 1)]
    return {name: [one[name] for one in each[1:]] for name in work}


def processor_ratio(seconds: list[Seconds], others: list[Seconds]) -> float:
    """Return the median over rounds of the ratio of two processor times."""
    return statistics.median(a.processor / b.processor for a, b in zip(seconds, others, strict=True))


def median_processor(seconds: list[Seconds]) -> float:
    """Return the median of the processor times, in seconds to three digits."""
    return round(statistics.median(one.processor for one in seconds), 3)


def resident() -> dict[str, int]:
    """Return this process's current and highest resident memory in bytes, under the names that /proc uses.

    The names are VmRSS and VmHWM. Unlike `ru_maxrss`, VmHWM never is that of the parent process.
    """
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if words[0] in ("VmRSS:", "VmHWM:")}


def forget_peak() -> None:
    """Set this process's highest resident memory back to its current one."""
    Path("/proc/self/clear_refs").write_text("5")


@contextmanager
def highest_memory(pid: int) -> Iterator[dict[str, int]]:
    """Record the highest resident memory of a process and of its descendants, in bytes, each second while open.

    Yields:
        The memory by the start of the command line.
    """
    highest: dict[str, int] = {}
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(EVERY_S):
            for _, name, size in descendants(pid):
                highest[name] = max(size, highest.get(name, 0))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield highest
    finally:
        stop.set()
        thread.join()


def descendants(root: int) -> list[tuple[int, str, int]]:
    """Return the pid, the start of the command line, and the resident bytes of a process and all its descendants."""
    found = []
    with suppress(psutil.Error):
        parent = psutil.Process(root)
        for process in [parent, *parent.children(recursive=True)]:
            with suppress(psutil.Error):
                name = " ".join(process.cmdline())[:200].strip()
                found.append((process.pid, name, process.memory_info().rss))
    return found


class Traffic(TorchDispatchMode):
    """Counts the bytes of each operator's tensors inside a `with`, by the operator's name.

    An operator reads each of its arguments once and writes its results; an in-place operator does both to the same
    tensor. An expanded tensor (`expand`) counts with its stored bytes. Operators that only return another view of a
    tensor move nothing. If values are scattered into a tensor, only the written places count, with the size of the
    values. A device moves more bytes than that if neighbouring values go to distant places.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.by_operator: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operator and count what it moved."""
        result = func(*args, **(kwargs or {}))
        read = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        written = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor)]
        where = {t.untyped_storage().data_ptr() for t in read}
        name = func.overloadpacket.__name__
        looks = all(t.untyped_storage().data_ptr() in where for t in written) and not func._schema.is_mutable
        if name in ("scatter_", "scatter_add_"):
            target, _, index, source = args
            passes = 1 if name == "scatter_" else 2
            self.by_operator[name] += _stored(index) + _stored(source) + passes * index.numel() * target.element_size()
        elif not looks:
            different = {(t.data_ptr(), t.shape, t.stride()): t for t in read}.values()
            self.by_operator[name] += sum(_stored(t) for t in [*different, *written])
        return result

    @property
    def total(self) -> int:
        """The bytes of all operators."""
        return sum(self.by_operator.values())


def _stored(tensor: torch.Tensor) -> int:
    held = (size for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if stride)
    return math.prod(held) * tensor.element_size()
