import math

import pytest
import torch

from ops.model.attention_modules import head_projections, word_embeddings
from ops.model.load import load_model, read_facts
from ops.psi.psi import random_direction, static_psi

EVERY = 11


@pytest.fixture(scope="module")
def sample() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Word embeddings, the matrices of all layers, and psi of both, of the packaged model."""
    facts = read_facts("sample")
    model = load_model(facts, "cpu", "float32")
    vectors = word_embeddings(model, facts)[::EVERY]
    weights = torch.stack([layer.weight for layer in head_projections(model, facts)])
    return vectors, weights, torch.stack([static_psi(vectors, weight) for weight in weights])


def test_every_value_is_the_formula_in_float64(sample: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> None:
    vectors, weights, found = (s.double() for s in sample)
    tokens, width = vectors.shape
    layers, _, heads, size, _ = weights.shape
    assert found.shape == (layers, tokens, 4, heads)
    projected = torch.einsum("tw,lphsw->ltphs", vectors, weights)
    stretched = projected.square().sum(-1).sqrt() / math.sqrt(size)
    expected = stretched / (vectors.square().sum(-1).sqrt() / math.sqrt(width))[:, None, None]
    product = expected[:, :, 0] * expected[:, :, 1] * expected[:, :, 2]
    for i in range(3):
        assert ((found[:, :, i] - expected[:, :, i]) / expected[:, :, i]).abs().max() < 1e-5
    assert ((found[:, :, 3] - product) / product).abs().max() < 1e-5


def test_a_zero_vector_has_none() -> None:
    found = static_psi(torch.zeros(1, 4), torch.ones(3, 2, 2, 4))
    assert bool(found.isnan().all())


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(2)
    vectors, weight = torch.randn(23, 12, generator=generator), torch.randn(3, 2, 6, 12, generator=generator)
    whole = static_psi(vectors, weight)
    monkeypatch.setattr("ops.psi.psi.TOKENS_PER_BLOCK", 5)
    torch.testing.assert_close(static_psi(vectors, weight), whole, rtol=1e-6, atol=0)


def test_a_random_direction_has_the_root_mean_square_over_directions() -> None:
    generator = torch.Generator().manual_seed(3)
    weight = torch.randn(3, 2, 4, 16, generator=generator, dtype=torch.float64)
    directions = torch.randn(200_000, 16, generator=generator, dtype=torch.float64)
    measured = static_psi(directions, weight)[:, :3].square().mean(0).sqrt()
    torch.testing.assert_close(random_direction(weight)[:3], measured, rtol=5e-3, atol=0)
