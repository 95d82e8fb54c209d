"""Times functions, by the clock and by the processor."""

import multiprocessing
import statistics
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple, TypeVar

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


def apart(work: Callable[..., T], *given: Any) -> T:
    """Call a function in a new process, whose memory is its own, and return its result."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *given).result()
