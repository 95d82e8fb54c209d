"""What the benchmarks count with."""

import torch

from bench.gpu import waits_among
from bench.traffic import Traffic

# As torch words them.
NOTICE = "Synchronization debug mode is a prototype feature and does not yet detect all synchronizing operations"
WAITED = "called a synchronizing CUDA operation"


def test_the_notice_of_torch_about_its_debug_mode_is_no_wait() -> None:
    assert waits_among([NOTICE, WAITED, "something else", WAITED]) == 2


def test_traffic_is_what_is_read_and_written() -> None:
    x, y = torch.ones(10, 4), torch.ones(10, 4)
    with Traffic() as traffic:
        x + y
    assert dict(traffic.by_operator) == {"add": 3 * 160}
    with Traffic() as traffic:
        x * x
        x.add_(1.0)
    assert dict(traffic.by_operator) == {"mul": 2 * 160, "add_": 2 * 160}


def test_views_move_nothing_and_expanded_tensors_count_what_is_stored() -> None:
    x, row = torch.ones(10, 4), torch.ones(4)
    with Traffic() as traffic:
        spread = row[None].expand(10, 4)
        x.T.contiguous()
    assert traffic.total == 2 * 160
    with Traffic() as traffic:
        x + spread
    assert traffic.total == 160 + 16 + 160


def test_scattering_counts_the_places_that_are_written() -> None:
    large, index, values = torch.zeros(1000), torch.tensor([3, 5]), torch.ones(2)
    with Traffic() as traffic:
        large.scatter_(0, index, values)
    assert traffic.total == 16 + 8 + 8
    with Traffic() as traffic:
        large.scatter_add_(0, index, values)
    assert traffic.total == 16 + 8 + 2 * 8
