from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import torch

from ops.errors import InputError
from ops.model.numerics import (
    check_dtype,
    check_exact_enough,
    check_gpu,
    gpu_bytes,
    gpu_kind,
    set_numerics,
    torch_dtype,
)


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    threads, matmul, cudnn = torch.get_num_threads(), torch.backends.cuda.matmul, torch.backends.cudnn
    kept = matmul.allow_tf32, cudnn.allow_tf32
    attention = torch.backends.cuda.cudnn_sdp_enabled()
    yield
    torch.backends.cuda.enable_cudnn_sdp(attention)
    torch.set_num_threads(threads)
    matmul.allow_tf32, cudnn.allow_tf32 = kept


def test_threads_are_set_on_a_cpu_alone() -> None:
    for device, threads, expected in (("cpu", 2, 2), ("cuda", 3, 2), ("cpu", None, 2), ("cpu", 1, 1)):
        set_numerics(device, threads)
        assert torch.get_num_threads() == expected


def test_tf32_is_on_only_where_it_is_named_and_cudnn_has_no_attention() -> None:
    torch.backends.cuda.enable_cudnn_sdp(True)
    set_numerics("cuda", None, "tf32")
    assert torch.backends.cuda.matmul.allow_tf32
    assert torch.backends.cudnn.allow_tf32
    assert not torch.backends.cuda.cudnn_sdp_enabled()
    set_numerics("cuda", None, "bfloat16")
    assert not torch.backends.cuda.matmul.allow_tf32
    assert not torch.backends.cudnn.allow_tf32
    assert [torch_dtype(name) for name in ("tf32", "float32", "bfloat16")] == [
        torch.float32, torch.float32, torch.bfloat16,
    ]  # fmt: skip


def test_what_a_device_or_a_job_cannot_do_is_refused() -> None:
    check_dtype("tf32", "cuda")
    check_dtype("bfloat16", "cpu")
    check_exact_enough("float32", "psi")
    with pytest.raises(InputError, match=r"--dtype tf32: .* on a CPU; give --dtype float32"):
        check_dtype("tf32", "cpu")
    for dtype in ("bfloat16", "float16", "tf32"):
        with pytest.raises(InputError, match=f"--dtype {dtype}: mixing subtracts"):
            check_exact_enough(dtype, "mixing")


def test_a_gpu_is_named_by_what_its_kernels_go_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu_kind() is gpu_bytes() is None
    found = SimpleNamespace(
        name="NVIDIA H100 80GB HBM3", major=9, minor=0, multi_processor_count=132, total_memory=85_028_765_696
    )
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: found)
    assert gpu_kind() == "NVIDIA H100 80GB HBM3, 9.0, 132 multiprocessors"
    assert gpu_bytes() == 85_028_765_696
    check_gpu(gpu_kind(), gpu_kind())
    with pytest.raises(InputError, match=r"started on NVIDIA A100, .* has NVIDIA H100"):
        check_gpu("NVIDIA A100, 8.0, 108 multiprocessors", gpu_kind())
