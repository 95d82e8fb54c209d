import numpy as np
import pytest
import torch

from bench.resources import Traffic
from ops.model.pooling import POOLS, Pooler

LENGTHS = (4, 2, 7)
RNG = np.random.default_rng(0)


def batch(special_tokens: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return states, padded with NaN, and which tokens count: with `exclude` not the first and the last."""
    states = torch.full((3, 7, 5), torch.nan)
    counted = torch.zeros(3, 7, dtype=torch.bool)
    for row, length in enumerate(LENGTHS):
        states[row, :length] = torch.from_numpy(RNG.normal(size=(length, 5)))
        own = slice(1, length - 1) if special_tokens == "exclude" and length > 2 else slice(0, length)
        counted[row, own] = True
    return states, counted


def one(pool: str, states: torch.Tensor, counted: torch.Tensor) -> torch.Tensor:
    """Pool one sentence."""
    if pool == "cls":
        return states[0]
    own = states[counted]
    return {"mean": own.mean(0), "max": own.max(0).values, "last": own[-1]}[pool]


@pytest.mark.parametrize("special_tokens", ["include", "exclude"])
@pytest.mark.parametrize("pool", POOLS)
def test_a_batch_is_pooled_sentence_by_sentence(pool: str, special_tokens: str) -> None:
    padded = batch(special_tokens)
    full = torch.from_numpy(RNG.normal(size=(2, 3, 4))).float(), torch.ones(2, 3, dtype=torch.bool)
    negative = -padded[0].abs(), padded[1]
    for states, counted in (padded, full, negative):
        expected = torch.stack([one(pool, s, c) for s, c in zip(states, counted, strict=True)])
        torch.testing.assert_close(Pooler(pool, counted)(states), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("pool", POOLS)
def test_precision_is_at_least_that_of_float32(pool: str) -> None:
    half = torch.full((1, 2049, 1), 1.0, dtype=torch.bfloat16)
    double = torch.full((1, 2049, 1), 1.0 + 2.0**-40, dtype=torch.float64)
    for states, dtype in ((half, torch.float32), (double, torch.float64)):
        found = Pooler(pool, torch.ones(1, 2049, dtype=torch.bool))(states)
        assert found.dtype == dtype
        assert found.item() == pytest.approx(states[0, 0, 0].item(), rel=1e-14, abs=1e-14)


@pytest.mark.parametrize("pool", ["mean", "last"])
def test_of_no_token_there_is_no_number(pool: str) -> None:
    counted = torch.tensor([[True, True], [False, False]])
    found = Pooler(pool, counted)(torch.ones(2, 2, 3))
    assert found[0].tolist() == [1.0, 1.0, 1.0]
    assert found[1].isnan().all()


def test_states_of_other_tokens_are_an_error() -> None:
    for pool in POOLS:
        pooler = Pooler(pool, batch("include")[1])
        for shape in ((3, 8, 5), (3, 6, 5), (2, 7, 5), (3, 7, 2, 5)):
            with pytest.raises(ValueError, match=r"for \(3, 7\) tokens"):
                pooler(torch.zeros(shape))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("pool", ["mean", "max"])
def test_half_precision_is_pooled_to_the_same_bits_without_a_copy_in_float32(pool: str, dtype: torch.dtype) -> None:
    states, counted = batch("include")
    half = states.to(dtype)
    with Traffic() as traffic:
        found = Pooler(pool, counted, queued=True)(half)
    wide = Pooler(pool, counted, queued=True)(half.float())
    assert found.dtype == torch.float32
    assert torch.equal(found, wide)
    # Reading and masking the states moves three times their two bytes; a copy in float32 would add six more.
    assert traffic.by_operator["_to_copy"] <= 4 * found.numel() * 4
