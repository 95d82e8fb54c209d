"""Checks that the disk has space for `topk`'s partial files, and divides a GPU's memory between its reducers."""

import numpy as np

from ops.errors import InputError
from ops.reducers.top_k import least_room
from ops.shards import Shards
from ops.storage.store import Store
from ops.topk.datasets import FLAG, NO_DATASETS, Datasets
from ops.topk.neurons import NEURONS_PER_PART

PART_OF_FREE = 4  # a quarter of a GPU's free memory is used for the winners
DATASETS_PART_OF_FREE = 8  # an eighth of a GPU's free memory is used for the winners within all data sets
MOST_ACTIVE = 2_000  # assumed maximum number of active features in a sentence
MOST_BEYOND = 100_000  # maximum number of slots beyond `k`: the number of sentences in a shard


def needed_bytes(
    neurons: int, k: int, poles: int, sample: int, shards: Shards, sparse: bool, datasets: Datasets
) -> tuple[int, int]:
    """Estimate the maximum size in bytes of the partial files: of the activation sample, and of everything else.

    Args:
        neurons: number of neurons of the model at the site.
        k: number of sentences kept for each neuron and pole.
        poles: number of poles.
        sample: number of sentences of the activation sample; a number above the corpus's size counts as that size.
        shards: the shards of the corpus.
        sparse: whether units are sparse features, few of which are active in a sentence.
        datasets: the data sets that also have their own winners.
    """
    active = min(neurons, MOST_ACTIVE) if sparse else neurons
    candidates = _candidate_bytes(neurons, k, poles, shards.sentences, active)
    candidates += sum(_candidate_bytes(neurons, datasets.k, poles, size, active) for size in datasets.sizes)
    return min(sample, shards.sentences) * active * 8, candidates + len(shards) * neurons * 450


def _candidate_bytes(neurons: int, k: int, poles: int, sentences: int, active: int) -> int:
    """Estimate the size in bytes of the winners so far in all shards."""
    rounds = 1 + np.log(max(sentences / k, 1))
    return int(min(k * rounds * 3 * neurons, sentences * active) * poles * 8)


def state_bytes(neurons: int, k: int, poles: int, datasets: Datasets = NO_DATASETS) -> int:
    """Return the minimum bytes of memory for a worker's winners so far; the arguments are those of `needed_bytes`.

    >>> state_bytes(9_216, 10_000, 2) / 1e9, state_bytes(9_216, 10_000, 2, Datasets(1_000, (*"abcdef",))) / 1e9
    (2.21184, 3.538944)
    """
    return 8 * neurons * poles * (least_room(k) + len(datasets) * least_room(datasets.k))


def check_room(
    store: Store, neurons: int, k: int, poles: int, sample: int, shards: Shards, sparse: bool, datasets: Datasets
) -> None:
    """Refuse to start if the local disk cannot hold the partial files.

    Args:
        store: the run's folder.
        neurons, k, poles, sample, shards, sparse, datasets: the arguments of `needed_bytes`.

    Raises:
        InputError: less space is free than the estimate, or a shard may return too many candidates.
    """
    for flag, value, most in (("--k", k, k), (FLAG, datasets.k, datasets.winners)):
        # Lists of candidates, whose offsets have 32 bits, are made for one part of the neurons at a time.
        if (part := min(neurons, NEURONS_PER_PART)) * min(most, shards.size) >= 1 << 31:
            raise InputError(
                f"{flag} {value}: {shards.size:,} sentences of a shard and {part:,} neurons may give over 2^31 "
                f"candidates; lower {flag} or --shard-size"
            )
    free = store.free_bytes()
    sampled, others = needed_bytes(neurons, k, poles, sample, shards, sparse, datasets)
    if free is not None and free < sampled + others:
        of_k = sum(needed_bytes(neurons, k, poles, 0, shards, sparse, NO_DATASETS))
        largest = "--activation-sample" if sampled > others else "--k" if 2 * of_k > others else FLAG
        raise InputError(
            f"--out {store.uri}: {free / 1e9:.1f} GB are free there and about {(sampled + others) / 1e9:.1f} GB are "
            f"needed; make room, name another place, or lower {largest}"
        )


def device_rooms(
    free: int, neurons: int, k: int, poles: int, datasets: Datasets = NO_DATASETS
) -> tuple[int, int | None]:
    """Return the number of slots of each neuron's winners, given the free bytes of a GPU's memory.

    The first number is for all sentences, the second for one data set, if there are any. With more slots, more
    sentences fit before the host must check whether a neuron's slots are full. Results are the same.

    Raises:
        InputError: even the minimum number of slots does not fit into the free memory.
    """
    needed = state_bytes(neurons, k, poles, datasets)
    if needed > free:
        corpus_bytes = state_bytes(neurons, k, poles)
        flag, value = (FLAG, datasets.k) if 2 * corpus_bytes < needed else ("--k", k)
        fewer = f"lower {flag}, or keep one pole (--poles top)" if poles > 1 else f"lower {flag}"
        raise InputError(
            f"{flag} {value}: the winners so far of {neurons:,} neurons take {needed / 1e9:.1f} GB of a GPU's memory, "
            f"but only {free / 1e9:.1f} GB are free; {fewer}, or score on CPUs (--device cpu)"
        )
    each = 8 * neurons * poles
    most = min(free // PART_OF_FREE // each, k + MOST_BEYOND)
    if not len(datasets):
        return most, None
    return most, min(free // DATASETS_PART_OF_FREE // (each * len(datasets)), datasets.k + MOST_BEYOND)
