"""The training of a dictionary, and of the controls of which a part is not trained."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from bench import train_dictionary
from bench.train_dictionary import FROZEN, Part, fit, measure
from ops.dictionaries.description import Asked
from ops.dictionaries.read import describe
from ops.errors import InputError
from ops.model.load import read_facts

if TYPE_CHECKING:
    from transformers import PretrainedConfig

WIDTH, FEATURES, K = 8, 300, 3
TEXTS = [f"The {animal} sleeps near the {place}." for animal in ("cat", "goose", "mule") for place in ("barn", "pond")]


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train_dictionary, "BATCH", 32)


def states() -> torch.Tensor:
    """States of 128 tokens with a mean far from 0, `[128, 8]`."""
    generator = torch.Generator().manual_seed(7)
    return torch.randn(128, WIDTH, generator=generator) * 3 + torch.arange(WIDTH)


def activations(weights: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """Activations of all features, by the formula of SAELens's TopK, `[tokens, features]`."""
    products = (x - weights["b_dec"]) @ weights["W_enc"] + weights["b_enc"]
    values, places = products.topk(K, dim=1)
    return torch.zeros_like(products).scatter(1, places, values.relu())


def error(weights: dict[str, torch.Tensor], x: torch.Tensor) -> float:
    left = x - activations(weights, x) @ weights["W_dec"] - weights["b_dec"]
    return float(left.square().sum())


@pytest.mark.parametrize("freeze", FROZEN)
def test_the_rest_is_trained_and_what_is_frozen_is_as_it_was_drawn(freeze: Part) -> None:
    x = states()
    start, _ = fit(x, FEATURES, K, 0, 5, freeze)
    # More steps than it takes until the loss of dead features begins.
    found, dead = fit(x, FEATURES, K, 40, 5, freeze)
    changed = {name for name in start if not torch.equal(start[name], found[name])}
    assert error(found, x) < 0.9 * error(start, x)
    if freeze == "encoder":
        # Its bias differs in the file, because the decoder's bias is subtracted from the input.
        assert changed == {"W_dec", "b_dec", "b_enc"}
        torch.testing.assert_close(activations(found, x), activations(start, x), rtol=1e-4, atol=1e-4)
        assert not torch.equal(found["W_dec"].norm(dim=1), start["W_dec"].norm(dim=1))
        assert dead == int((activations(start, x) > 0).sum(0).eq(0).sum())
    else:
        assert changed == set(start) - {*FROZEN[freeze]}
        torch.testing.assert_close(found["W_dec"].norm(dim=1), torch.ones(FEATURES))


def test_parts_are_tied_at_the_start_and_drawn_from_the_seed() -> None:
    x = states()
    start, _ = fit(x, FEATURES, K, 0, 5)
    assert torch.equal(start["W_enc"], start["W_dec"].T)
    for freeze in FROZEN:
        assert all(torch.equal(start[name], own) for name, own in fit(x, FEATURES, K, 0, 5, freeze)[0].items())
    assert not torch.equal(start["W_enc"], fit(x, FEATURES, K, 0, 6)[0]["W_enc"])


def test_a_dictionary_trained_on_random_weights_is_taken_with_them(
    tmp_path: Path, make_model: Callable[..., Path], small_bert: "PretrainedConfig", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train_dictionary, "draw", lambda count, seed: (TEXTS * 10)[:count])
    name, out = f"random:{make_model(small_bert)}", tmp_path / "sae"
    result = measure(str(out), name, 1, 20, K, 60, 3, 1, model_seed=4, freeze="decoder")
    assert (result["model"], result["freeze"]) == (name, "decoder")
    assert 0 < result["explained_variance_of_held_out_sentences"] <= 1
    asked = Asked(1, str(out))
    assert describe(asked, read_facts(name, 4)).features == 20
    for model, seed in ((name, 0), (name.removeprefix("random:"), None)):
        with pytest.raises(InputError, match="was trained on the random weights"):
            describe(asked, read_facts(model, seed))
