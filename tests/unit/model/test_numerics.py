from collections.abc import Iterator

import pytest
import torch

from ops.model.numerics import set_numerics


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    threads, matmul, cudnn = torch.get_num_threads(), torch.backends.cuda.matmul, torch.backends.cudnn
    kept = matmul.allow_tf32, cudnn.allow_tf32
    yield
    torch.set_num_threads(threads)
    matmul.allow_tf32, cudnn.allow_tf32 = kept


def test_threads_are_set_on_a_cpu_alone() -> None:
    for device, threads, expected in (("cpu", 2, 2), ("cuda", 3, 2), ("cpu", None, 2), ("cpu", 1, 1)):
        set_numerics(device, threads)
        assert torch.get_num_threads() == expected


def test_tf32_is_off() -> None:
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    set_numerics("cpu", 1)
    assert not torch.backends.cuda.matmul.allow_tf32
    assert not torch.backends.cudnn.allow_tf32
