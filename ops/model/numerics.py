"""How torch computes: set alike in every worker, so that a batch gives the same bits on the same kind of hardware."""

import torch


def set_numerics(device: str, threads: int | None) -> None:
    """Set the number of torch's threads of this process, and switch TF32 off.

    Args:
        device: the device that a model runs on (`cpu`, `cuda`, ...).
        threads: of this process on a CPU; on another device torch's threads stay as they are.
    """
    if device == "cpu" and threads is not None:
        torch.set_num_threads(threads)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
