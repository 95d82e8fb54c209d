"""The check against the model run by hand, and the units that are drawn for it."""

from pathlib import Path

import numpy as np
import pytest
import torch

from ops.model.tokenizer import Tokens
from ops.outputs.check_effects import Checker, agreement, direct_effect, drawn_units
from ops.outputs.token_head import TokenHead
from ops.outputs.written import written_by_neurons
from tests.unit.outputs.heads import LAYERS, VOCABULARY, saved

BATCHES = [
    [Tokens([4, 5, 6, 7], [0] * 4, False), Tokens([4, 9, 7], [0] * 3, False)],
    [Tokens([8, 2], [0] * 2, False), Tokens([3], [0], False)],
]
EVERY = torch.arange(VOCABULARY)


def mean_logits(model: torch.nn.Module) -> np.ndarray:
    rows = []
    for batch in BATCHES:
        for tokens in batch:
            with torch.inference_mode():
                rows += list(model(torch.tensor([tokens.ids])).logits[0][1:].double().numpy())
    return np.mean(rows, 0)


@pytest.mark.parametrize("site", ["hidden", "mlp", "attention"])
def test_the_change_is_that_of_a_model_whose_bias_is_raised(site: str, tmp_path: Path) -> None:
    model, facts = saved("gpt2", tmp_path)
    head = TokenHead(facts)
    layer, unit, amount = 2, 3, 0.7
    written = written_by_neurons(head, site, layer)
    checker = Checker(head, BATCHES, 1, EVERY)
    found = checker.change(written, unit, amount)
    before = mean_logits(model)
    block = model.transformer.h[layer - 1]
    with torch.no_grad():
        if site == "mlp":
            block.mlp.c_proj.bias += amount * block.mlp.c_proj.weight[unit]
        elif site == "attention":
            block.attn.c_proj.bias[unit] += amount
        else:
            block.mlp.c_proj.bias[unit] += amount
    np.testing.assert_allclose(found, mean_logits(model) - before, atol=2e-5)
    assert checker.positions == 3 + 2 + 1
    assert np.abs(checker.change(written, unit, 0.0)).max() < 1e-6, "nothing is left behind"


def test_a_small_change_after_the_last_layer_is_the_direct_effect(tmp_path: Path) -> None:
    _, facts = saved("bert", tmp_path)
    head = TokenHead(facts)
    written = written_by_neurons(head, "hidden", LAYERS)
    batch = [[Tokens([4], [0], False)]]
    sums, count = head.state_sums(batch[0], 1)
    linear = head.linearise(sums["output"] / count, "output", EVERY)
    # One position: the mean state is the state itself.
    change = Checker(head, batch, 1, EVERY).change(written, 5, 1e-3)
    correlation, slope = agreement(change, direct_effect(linear, written, 5, 1e-3))
    assert correlation == pytest.approx(1, abs=1e-3)
    assert slope == pytest.approx(1, abs=1e-2)
    other, _ = agreement(change, direct_effect(linear, written, 6, 1e-3))
    assert abs(other) < 0.9


def test_agreement_is_pearson_s_and_the_slope_that_of_least_squares() -> None:
    rng = np.random.default_rng(0)
    effect = rng.normal(size=50)
    change = 3 * effect + rng.normal(size=50) + 4
    correlation, slope = agreement(change, effect)
    assert correlation == pytest.approx(np.corrcoef(change, effect)[0, 1])
    assert slope == pytest.approx(np.polyfit(effect, change, 1)[0])
    assert np.isnan(agreement(change, np.ones(50))).all()


def test_units_are_drawn_from_all_layers_with_others_of_their_own() -> None:
    allowed = {1: np.arange(10), 2: np.array([3, 4]), 3: np.array([7]), 4: np.zeros(0, np.int64)}
    found = drawn_units(allowed, 8, 0)
    assert found == drawn_units(allowed, 8, 0)
    by_layer = {layer: [each for each in found if each[0] == layer] for layer in allowed}
    assert [len(own) for own in by_layer.values()] == [3, 2, 1, 0]
    for layer, own in by_layer.items():
        units = [unit for _, unit, _ in own]
        assert len(set(units)) == len(units)
        assert all(other != unit and (other is None or other in allowed[layer]) for _, unit, other in own)
    assert by_layer[3] == [(3, 7, None)]
    assert {other for _, _, other in by_layer[1]} == {unit for _, unit, _ in by_layer[1]}, "each is another's"
    (single,) = drawn_units({1: np.arange(10)}, 1, 0)
    assert single[2] not in (None, single[1])
    assert drawn_units({1: np.arange(10)}, 1, 0) != drawn_units({1: np.arange(10)}, 1, 1)
