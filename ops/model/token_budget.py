"""The default number of tokens of a batch, chosen by the kind of device and the memory of a GPU."""

ON_CPU = 2_048  # fits the caches of a core
ON_LARGE_GPU = 131_072  # keeps a GPU of 80 GB busy while the host launches the next batch
LARGE_BYTES = 80e9
# The driver and error correction reserve a part of a GPU's nominal memory: an L4 of 24 GB shows 23.7.
SHOWN = 0.9


def token_budget(gpu_bytes: int | None) -> int:
    """Return the maximum number of tokens of a batch, including padding.

    On a GPU, a token of bert-base takes about 50 kB. This follows from the shapes of the forward pass in float32: three
    times the feed-forward's 3,072 units and five times the 768 units of the states. `--site mlp` adds the 36,864 pooled
    units of each sentence, which is 7 kB a token in sentences of 22 tokens. So 131,072 tokens take 8 of 80 GB. The rest
    is for the model, the reducer's state (16 GB at K = 10,000, more under `mlp`) and the attention of long sentences.
    A GPU with half the memory gets half the batch. More than 80 GB does not increase the batch, because the kernels are
    already busy.

    Args:
        gpu_bytes: memory of a worker's GPU in bytes, as its driver reports it; None on a CPU.

    >>> [token_budget(int(gb * 1e9)) for gb in (150.1, 85.0, 47.7, 42.3, 23.7, 15.8)]
    [131072, 131072, 65536, 65536, 32768, 16384]
    """
    if gpu_bytes is None:
        return ON_CPU
    budget, least = ON_LARGE_GPU, SHOWN * LARGE_BYTES
    while gpu_bytes < least and budget > ON_CPU:
        budget, least = budget // 2, least / 2
    return budget
