"""A seeded uniform sample of distinct texts, drawn by their hashes, so that no list of them all is needed."""

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from ops.hashing import mixed

Priorities = npt.NDArray[np.uint64]
Positions = npt.NDArray[np.int64]
_BINS = 1 << 16
_SHIFT = np.uint64(48)


def priorities(hashes: npt.NDArray[np.uint64], seed: int, purpose: int) -> Priorities:
    """Return each text's priority in the draw, `[texts]`: its hash, mixed with the seed.

    Args:
        hashes: 64 bits of each text's hash, `[texts]`.
        seed: the run's seed.
        purpose: one of the draws that `ops.shards` names.
    """
    salt = np.random.default_rng([seed, purpose]).integers(0, 2**64, dtype=np.uint64)
    return mixed(hashes ^ salt)


def last_chosen(blocks: Callable[[], Iterable[tuple[Priorities, Positions]]], size: int) -> tuple[int, int]:
    """Find the priority and position of the last text of a sample: those up to it are `size`.

    Args:
        blocks: gives all texts' priorities and positions anew at each call, a block at a time; read twice.
        size: texts of the sample, at least 1 and at most as many as there are.
    """
    counts = np.zeros(_BINS, np.int64)
    for priority, _ in blocks():
        counts += np.bincount((priority >> _SHIFT).astype(np.int64), minlength=_BINS)
    before = np.cumsum(counts) - counts
    chosen = int(np.searchsorted(before, size - 1, "right")) - 1
    inside = [(p[here], at[here]) for p, at in blocks() if (here := (p >> _SHIFT) == np.uint64(chosen)).any()]
    priority, position = (np.concatenate(column) for column in zip(*inside, strict=True))
    last = np.lexsort((position, priority))[size - 1 - int(before[chosen])]
    return int(priority[last]), int(position[last])


def up_to(priority: Priorities, position: Positions, last: tuple[int, int]) -> npt.NDArray[np.bool_]:
    """Tell which texts belong to the sample that ends with `last`."""
    end = np.uint64(last[0])
    return np.asarray((priority < end) | ((priority == end) & (position <= last[1])))
