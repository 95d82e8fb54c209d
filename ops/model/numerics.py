"""How torch computes: set alike in every worker, so that a batch gives the same bits on the same kind of hardware."""

import torch

from ops.errors import InputError

TF32 = "tf32"
HALVES = ("bfloat16", "float16")


def set_numerics(device: str, threads: int | None, dtype: str = "float32") -> None:
    """Set the number of torch's threads of this process, and switch TF32 off unless it is what was asked for.

    cuDNN's attention is off: it makes a new plan for every shape of a batch.

    Args:
        device: the device that a model runs on (`cpu`, `cuda`, ...).
        threads: of this process on a CPU; on another device torch's threads stay as they are.
        dtype: the arithmetic's name, as `--dtype` has it.
    """
    if device == "cpu" and threads is not None:
        torch.set_num_threads(threads)
    torch.backends.cuda.matmul.allow_tf32 = dtype == TF32
    torch.backends.cudnn.allow_tf32 = dtype == TF32
    torch.backends.cuda.enable_cudnn_sdp(False)


def torch_dtype(dtype: str) -> torch.dtype:
    """Return the type of a model's numbers: under `tf32` they are float32, and products alone are rounded."""
    found: torch.dtype = torch.float32 if dtype == TF32 else getattr(torch, dtype)
    return found


def gpu_kind() -> str | None:
    """Return the name, compute capability and count of multiprocessors of this process's GPU; None without one.

    Kernels are chosen by these, and the last digits of what they compute with them.
    """
    if not torch.cuda.is_available():
        return None
    found = torch.cuda.get_device_properties(0)
    return f"{found.name}, {found.major}.{found.minor}, {found.multi_processor_count} multiprocessors"


def gpu_bytes() -> int | None:
    """Return the bytes of memory of this process's GPU, used or not; None without one."""
    return int(torch.cuda.get_device_properties(0).total_memory) if torch.cuda.is_available() else None


def check_gpu(pilot: str | None, own: str | None) -> None:
    """Refuse a worker whose GPU is of another kind than the one that scored the pilot.

    Raises:
        InputError: it is.
    """
    if pilot != own:
        raise InputError(
            f"--device cuda: this run was started on {pilot or 'no GPU'}, but a worker has {own or 'none'}; use GPUs "
            "of one kind, or repeat the command with --redo"
        )


def check_dtype(dtype: str, device: str) -> None:
    """Refuse an arithmetic that the device does not have.

    Raises:
        InputError: TF32 on a CPU.
    """
    if dtype == TF32 and device == "cpu":
        raise InputError("--dtype tf32: works only on GPUs, and the model runs on a CPU; give --dtype float32")


def check_exact_enough(dtype: str, job: str) -> None:
    """Refuse an arithmetic whose rounding is not small compared with the differences that a job computes.

    Raises:
        InputError: it is one of half precision, or TF32.
    """
    if dtype in (*HALVES, TF32):
        raise InputError(f"--dtype {dtype}: {job} subtracts numbers that it would round too much; give --dtype float32")
