"""What the benchmarks count with."""

import numpy as np
import pytest
import torch

from bench.bases import basis_of, draw, layout
from bench.gpu import waits_among
from bench.search import PHENOMENA, areas
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


def test_values_are_those_of_the_units_and_intervals_hold_them() -> None:
    rng = np.random.default_rng(0)
    columns = {"rule": (rng.random(400) < 0.3) * 1.0, "r2_beyond": rng.normal(0.1, 0.05, 400)}
    columns["f1"] = np.where(rng.random(400) < 0.1, np.nan, rng.random(400))
    found = basis_of("a", columns, 0)
    assert found.units == 400
    assert found.rule[0] == pytest.approx(columns["rule"].mean())
    assert found.r2_beyond[0] == pytest.approx(np.median(columns["r2_beyond"]))
    assert found.f1[0] == pytest.approx(np.nanmean(columns["f1"]))
    error = columns["rule"].std() / 20
    assert found.rule[2] - found.rule[1] == pytest.approx(2 * 1.96 * error, rel=0.15)
    for value, low, high in (found.rule, found.r2_beyond, found.f1):
        assert low < value < high
    assert basis_of("a", columns, 0) == found
    line = layout([found]).splitlines()[-1]
    assert line.startswith(f"| a | 400 | {found.rule[0]:.1%} (")
    assert len(draw([found, found]).axes) == 3


def test_the_area_of_the_search_s_benchmark_is_the_share_of_pairs_in_order() -> None:
    rng = np.random.default_rng(0)
    activations, has = rng.integers(0, 5, (40, 3)).astype(float), rng.random(40) < 0.3
    pairs = activations[has][:, None] - activations[~has][None]
    expected = ((pairs > 0) + 0.5 * (pairs == 0)).mean(axis=(0, 1))
    assert areas(activations, has) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("phrase", "has", "lacks"),
    [
        ("question", ["Who", "left", "?"], ["Who", "left", "."]),
        ("past participle", ["It", "was", "soon", "painted"], ["It", "was", "red", "paint"]),
        ("number", ["room", "b12"], ["room", "twelve"]),
        ("proper noun", ["We", "met", "Ada"], ["Ada", "met", "us"]),
        ("to be", ["Wants", "To", "be", "big"], ["to", "better", "be"]),
    ],
)
def test_a_rule_of_the_search_s_benchmark_reads_words(phrase: str, has: list[str], lacks: list[str]) -> None:
    assert PHENOMENA[phrase](has)
    assert not PHENOMENA[phrase](lacks)
