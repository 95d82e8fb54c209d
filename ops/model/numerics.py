"""Settings of torch's arithmetic.

They are the same in every worker, so that a batch gives the same bits on the same kind of hardware.
"""

import torch

from ops.errors import InputError

TF32 = "tf32"
HALVES = ("bfloat16", "float16")


def set_numerics(device: str, threads: int | None, dtype: str = "float32") -> None:
    """Set the number of torch's threads in this process, and switch TF32 off unless `dtype` is `tf32`.

    cuDNN's attention is switched off, because it makes a new plan for every shape of a batch.

    Args:
        device: the device that a model runs on (`cpu`, `cuda`, ...).
        threads: number of threads on a CPU; on another device the number of torch's threads does not change.
        dtype: the name of the arithmetic, as given with `--dtype`.
    """
    if device == "cpu" and threads is not None:
        torch.set_num_threads(threads)
    torch.backends.cuda.matmul.allow_tf32 = dtype == TF32
    torch.backends.cudnn.allow_tf32 = dtype == TF32
    torch.backends.cuda.enable_cudnn_sdp(False)


def torch_dtype(dtype: str) -> torch.dtype:
    """Return the torch type of a model's numbers; under `tf32` they are float32, and only products are rounded."""
    found: torch.dtype = torch.float32 if dtype == TF32 else getattr(torch, dtype)
    return found


def gpu_kind() -> str | None:
    """Return the name, compute capability and number of multiprocessors of this process's GPU; None without a GPU.

    These properties decide which kernels run, and so the last digits of their results.
    """
    if not torch.cuda.is_available():
        return None
    found = torch.cuda.get_device_properties(0)
    return f"{found.name}, {found.major}.{found.minor}, {found.multi_processor_count} multiprocessors"


def gpu_bytes() -> int | None:
    """Return the total memory of this process's GPU in bytes, used or not; None without a GPU."""
    return int(torch.cuda.get_device_properties(0).total_memory) if torch.cuda.is_available() else None


def check_gpu(pilot: str | None, own: str | None) -> None:
    """Refuse a worker whose GPU is of another kind than the GPU that scored the pilot."""
    if pilot != own:
        raise InputError(
            f"--device cuda: this run was started on {pilot or 'no GPU'}, but a worker has {own or 'none'}; use GPUs "
            "of one kind, or repeat the command with --redo"
        )


def check_dtype(dtype: str, device: str) -> None:
    """Refuse TF32 on a CPU, which does not support it."""
    if dtype == TF32 and device == "cpu":
        raise InputError("--dtype tf32: works only on GPUs, and the model runs on a CPU; give --dtype float32")


def check_exact_enough(dtype: str, job: str) -> None:
    """Refuse half precision and TF32, whose rounding is too coarse for the differences that a job computes."""
    if dtype in (*HALVES, TF32):
        raise InputError(f"--dtype {dtype}: {job} subtracts numbers that it would round too much; give --dtype float32")
