"""The tokens that units change most, and the moments, against plain numpy."""

import numpy as np
import pytest
import torch
from scipy import stats

from ops.outputs import token_effects as module
from ops.outputs.names import PROMOTED, SUPPRESSED
from ops.outputs.token_effects import random_effects, token_effects
from ops.outputs.token_head import LinearHead
from ops.outputs.written import Written

WIDTH, VOCABULARY = 6, 40


def linear(tokens: list[int] | None = None, seed: int = 0) -> LinearHead:
    torch.manual_seed(seed)
    kept = torch.arange(VOCABULARY) if tokens is None else torch.tensor(tokens)
    return LinearHead(torch.randn(4, WIDTH), torch.randn(VOCABULARY, 4), torch.rand(VOCABULARY) + 0.5, kept)


@pytest.mark.parametrize(("tokens", "at_once"), [(None, 100), ([1, 2, 5, 8, 13, 21, 34, 39], 1 << 22)])
def test_they_are_those_of_the_whole_matrix(
    tokens: list[int] | None, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_VALUES_AT_ONCE", at_once)
    head, directions = linear(tokens), torch.randn(9, WIDTH)
    found = token_effects(head, directions, 5)
    jacobian = np.diag(head.scale.double()) @ head.unembedding.double().numpy() @ head.inside.double().numpy()
    kept = head.tokens.numpy()
    logits = (directions.double().numpy() @ jacobian.T)[:, kept]
    np.testing.assert_allclose(found.mean, logits.mean(1), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found.std, logits.std(1), rtol=1e-5)
    np.testing.assert_allclose(found.skew, stats.skew(logits, axis=1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.kurtosis, stats.kurtosis(logits, axis=1), rtol=1e-4, atol=1e-5)
    extreme = np.abs(logits - logits.mean(1, keepdims=True)).max(1) / logits.std(1)
    np.testing.assert_allclose(found.extreme, extreme, rtol=1e-5)
    order = np.argsort(logits, axis=1)
    assert (found.tokens[SUPPRESSED] == kept[order[:, :5]]).all()
    assert (found.tokens[PROMOTED] == kept[order[:, ::-1][:, :5]]).all()
    for side in (PROMOTED, SUPPRESSED):
        places = np.searchsorted(kept, found.tokens[side])
        np.testing.assert_allclose(found.logits[side], np.take_along_axis(logits, places, 1), rtol=1e-4, atol=1e-5)


def test_equal_logits_come_in_the_order_of_tokens() -> None:
    head = LinearHead(
        torch.ones(1, 1), torch.tensor([[1.0], [2.0], [1.0], [2.0], [0.0]]), torch.ones(5), torch.arange(5)
    )
    found = token_effects(head, torch.ones(1, 1), 3)
    assert found.tokens[PROMOTED].tolist() == [[1, 3, 0]]
    assert found.tokens[SUPPRESSED].tolist() == [[4, 0, 2]]


def test_a_layer_s_random_directions_follow_from_the_seed() -> None:
    written = [Written(layer, WIDTH, "stream", torch.nn.Identity()) for layer in (1, 2)]
    first, again = (random_effects(linear(), written[0], 30, 7) for _ in range(2))
    assert (first.kurtosis == again.kurtosis).all()
    assert len(set(first.kurtosis.tolist())) == 30
    for other in (random_effects(linear(), written[1], 30, 7), random_effects(linear(), written[0], 30, 8)):
        assert not np.isin(other.kurtosis, first.kurtosis).any()
