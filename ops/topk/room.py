"""Whether the disk can hold what a run of `topk` has under way, and how much a GPU's memory gives its winners."""

import numpy as np
import torch

from ops.errors import InputError
from ops.reducers.top_k import least_room
from ops.shards import Shards
from ops.storage.store import Store

PART_OF_FREE = 4  # of a GPU's free memory, for the winners
MOST_ACTIVE = 2_000  # features that are active in a sentence, taken for the most
MOST_BEYOND = 100_000  # slots beyond `k`: as many as a shard has sentences


def needed_bytes(
    neurons: int, k: int, poles: int, sample: int, shards: Shards, sparse: bool = False
) -> tuple[int, int]:
    """Return about how many bytes the partial files take at the most: the activation sample's, and all others.

    Args:
        neurons: of the model at the site.
        k, poles: sentences kept for each neuron and pole, and the number of poles.
        sample: sentences of the activation sample; no more than the corpus has.
        shards: the corpus's.
        sparse: whether units are sparse features, of which few are active in a sentence.
    """
    active = min(neurons, MOST_ACTIVE) if sparse else neurons
    rounds = 1 + np.log(max(shards.sentences / k, 1))
    candidates = min(k * rounds * 3 * neurons, shards.sentences * active) * poles * 8
    return min(sample, shards.sentences) * active * 8, int(candidates + len(shards) * neurons * 450)


def check_room(
    store: Store, neurons: int, k: int, poles: int, sample: int, shards: Shards, sparse: bool = False
) -> None:
    """Refuse to start where the local disk cannot hold the partial files.

    Args:
        store: the run's folder.
        neurons, k, poles, sample, shards, sparse: as `needed_bytes` takes them.

    Raises:
        InputError: there is less room than an estimate of what is needed, or a shard may give too many candidates.
    """
    if neurons * min(k, shards.size) >= 1 << 31:
        raise InputError(
            f"--k {k}: {shards.size:,} sentences of a shard and {neurons:,} neurons may give over 2^31 "
            "candidates; lower --k or --shard-size"
        )
    free = store.free_bytes()
    sampled, others = needed_bytes(neurons, k, poles, sample, shards, sparse)
    if free is not None and free < sampled + others:
        largest = "--activation-sample" if sampled > others else "--k"
        raise InputError(
            f"--out {store.uri}: {free / 1e9:.1f} GB are free there and about {(sampled + others) / 1e9:.1f} GB are "
            f"needed; make room, name another place, or lower {largest}"
        )


def device_room(device: torch.device, neurons: int, k: int, poles: int) -> int | None:
    """Return the slots that each neuron's winners get on a GPU, by its free memory; None for as few as will do.

    Raises:
        InputError: as `slots_of` raises it.
    """
    if device.type != "cuda":
        return None
    free, _ = torch.cuda.mem_get_info(device)
    return slots_of(free, neurons, k, poles)


def slots_of(free: int, neurons: int, k: int, poles: int) -> int:
    """Return the slots that each neuron's winners get where so many bytes of a GPU's memory are free.

    The more there are, the more sentences come before the host must look whether one is full; results are the same.

    Raises:
        InputError: the fewest slots that K needs do not fit.
    """
    needed = 8 * neurons * poles * least_room(k)
    if needed > free:
        fewer = "lower --k, or keep one pole (--poles top)" if poles > 1 else "lower --k"
        raise InputError(
            f"--k {k}: the winners so far of {neurons:,} neurons take {needed / 1e9:.1f} GB of a GPU's memory, of "
            f"which {free / 1e9:.1f} GB are free; {fewer}, or score on CPUs (--device cpu)"
        )
    return min(free // PART_OF_FREE // (8 * neurons * poles), k + MOST_BEYOND)
