"""How many tokens a batch holds where the user does not say: by the kind of device, and on GPUs by their memory."""

ON_CPU = 2_048  # what a core's caches are good for
ON_LARGE_GPU = 131_072  # what a GPU of 80 GB computes while the host launches the next batch
LARGE_BYTES = 80e9
# Of the memory that a GPU is sold by, its driver and error correction keep a part: an L4 of 24 GB shows 23.7.
SHOWN = 0.9


def token_budget(gpu_bytes: int | None) -> int:
    """Return the tokens of a batch, padding included.

    On a GPU a token takes about 50 kB at bert-base, by the shapes of its forward pass in float32: three times the
    feed-forward's 3,072 units and five times the 768 of the states. `--site mlp` adds a sentence's 36,864 pooled units,
    7 kB a token in sentences of 22. So 131,072 tokens take 8 GB of 80, which leaves room for the model, the reducer's
    state (16 GB at K = 10,000, more under `mlp`) and the attention of long sentences. Half the memory gets half the
    batch; more than 80 GB get no larger one, since kernels are busy already.

    Args:
        gpu_bytes: memory of a worker's GPU as its driver shows it; None on a CPU.

    >>> [token_budget(int(gb * 1e9)) for gb in (150.1, 85.0, 47.7, 42.3, 23.7, 15.8)]
    [131072, 131072, 65536, 65536, 32768, 16384]
    """
    if gpu_bytes is None:
        return ON_CPU
    budget, least = ON_LARGE_GPU, SHOWN * LARGE_BYTES
    while gpu_bytes < least and budget > ON_CPU:
        budget, least = budget // 2, least / 2
    return budget
