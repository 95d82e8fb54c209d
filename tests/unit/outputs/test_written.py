"""What units write, by hand and by raising each of them in the model itself."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ops.dictionaries.description import Asked
from ops.dictionaries.directions import describe_file
from ops.errors import InputError
from ops.model.sites import HookPoint
from ops.outputs import written as module
from ops.outputs.token_head import TokenHead
from ops.outputs.written import Written, adding, check_written, written_by_features, written_by_neurons
from tests.unit.outputs.heads import INNER, LAYERS, WIDTH, saved, stream

IDS = torch.tensor([[5, 9, 2, 7, 11]])
MLP = {
    "gpt2": (lambda layer: layer.mlp.c_proj.weight, lambda layer: layer.mlp.c_fc.weight.T),
    "llama": (lambda layer: layer.mlp.down_proj.weight.T, lambda layer: layer.mlp.gate_proj.weight),
    "gpt_neox": (lambda layer: layer.mlp.dense_4h_to_h.weight.T, lambda layer: layer.mlp.dense_h_to_4h.weight),
    "opt": (lambda layer: layer.fc2.weight.T, lambda layer: layer.fc1.weight),
    "bert": (lambda layer: layer.output.dense.weight.T, lambda layer: layer.intermediate.dense.weight),
    "roberta": (lambda layer: layer.output.dense.weight.T, lambda layer: layer.intermediate.dense.weight),
    "distilbert": (lambda layer: layer.ffn.lin2.weight.T, lambda layer: layer.ffn.lin1.weight),
    "modernbert": (lambda layer: layer.mlp.Wo.weight.T, lambda layer: layer.mlp.Wi.weight[:INNER]),
}


@pytest.mark.parametrize("kind", list(MLP))
def test_neurons_of_the_mlp_write_columns_and_read_rows(kind: str, tmp_path: Path) -> None:
    _, facts = saved(kind, tmp_path)
    head = TokenHead(facts)
    assert head.layer_modules is not None
    found, units = written_by_neurons(head, "mlp", 2), torch.tensor([0, 4, 9])
    writes, reads = (own(head.layer_modules[1]) for own in MLP[kind])
    assert (found.entry, found.units) == ("stream", len(writes))
    torch.testing.assert_close(found.directions(units), writes[units])
    cosines = found.cosines(units)
    assert cosines is not None
    by_hand = [
        float(np.dot(a, b) / np.linalg.norm(a) / np.linalg.norm(b))
        for a, b in zip(writes[units].double().numpy(), reads[units].double().numpy(), strict=True)
    ]
    np.testing.assert_allclose(cosines.numpy(), by_hand, rtol=1e-6)


@pytest.mark.parametrize("kind", ["gpt2", "llama", "gpt_neox", "opt"])
def test_in_the_stream_a_unit_changes_what_it_writes(kind: str, tmp_path: Path) -> None:
    # In a decoder nothing follows the last layer's feed-forward network but the residual sum.
    _, facts = saved(kind, tmp_path)
    head, unit = TokenHead(facts), torch.tensor([3])
    found = written_by_neurons(head, "mlp", LAYERS)
    before = stream(head, IDS)
    handle = adding(found, found.added(3) * 0.5)
    after = stream(head, IDS)
    handle.remove()
    torch.testing.assert_close(after - before, found.directions(unit).expand(5, -1) / 2, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(stream(head, IDS), before)
    for axes in (written_by_neurons(head, "hidden", LAYERS - 1), written_by_neurons(head, "attention", LAYERS)):
        assert axes.entry == found.entry == "stream"
        torch.testing.assert_close(axes.directions(unit)[0], torch.eye(WIDTH)[3])
        assert axes.cosines(unit) is None


@pytest.mark.parametrize("kind", ["gpt2", "bert"])
def test_units_of_the_last_hidden_layer_enter_after_the_final_norm(kind: str, tmp_path: Path) -> None:
    _, facts = saved(kind, tmp_path)
    head = TokenHead(facts)
    found = written_by_neurons(head, "hidden", LAYERS)
    assert (found.entry, found.units) == ("output", WIDTH)
    with torch.inference_mode():
        before = head.body(input_ids=IDS)[0]
        handle = adding(found, found.added(7) * 2)
        after = head.body(input_ids=IDS)[0]
        handle.remove()
    torch.testing.assert_close(after - before, 2 * torch.eye(WIDTH)[7].expand(1, 5, -1), atol=1e-5, rtol=1e-5)


def test_what_a_layer_normalises_first_has_no_direction(tmp_path: Path) -> None:
    _, facts = saved("gemma2", tmp_path)
    for site in ("mlp", "attention"):
        with pytest.raises(
            InputError, match=rf"--site {site}: a gemma2 normalises what .* use a run with --site hidden"
        ):
            check_written(facts, site, (1,), ())
    assert check_written(facts, "hidden", range(1, LAYERS + 1), ()) > 0


def written(writes: torch.Tensor | None, units: int) -> Written:
    return Written(2, units, "stream", torch.nn.Identity(), writes=writes)


def test_random_directions_lie_where_the_units_write() -> None:
    torch.manual_seed(1)
    writes = torch.randn(9000, 3) @ torch.randn(3, WIDTH)
    drawn = written(writes, 9000).mixed(40, torch.Generator().manual_seed(4))
    torch.testing.assert_close(drawn.norm(dim=1), torch.ones(40))
    assert torch.linalg.matrix_rank(drawn, rtol=1e-4) == 3
    torch.testing.assert_close(drawn, written(writes, 9000).mixed(40, torch.Generator().manual_seed(4)))
    # Of axes they are uniform: no value of them is larger than another one on average.
    spread = written(None, WIDTH).mixed(20_000, torch.Generator().manual_seed(4)).square().mean(0)
    np.testing.assert_allclose(spread.numpy(), 1 / WIDTH, rtol=0.05)


@pytest.fixture
def features(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[TokenHead, dict[str, torch.Tensor]]:
    _, facts = saved("gpt2", tmp_path)
    torch.manual_seed(3)
    weights = {"encoder": torch.randn(WIDTH, 50), "decoder": torch.randn(50, WIDTH)}
    monkeypatch.setattr(module, "load", lambda description: dict(weights))
    return TokenHead(facts), weights


def description(tmp_path: Path, **changes: object) -> object:
    np.save(tmp_path / "d.npy", np.random.default_rng(0).normal(size=(50, WIDTH)).astype(np.float32))
    found = describe_file(Asked(2, str(tmp_path / "d.npy")), tmp_path / "d.npy")
    return replace(found, **changes)  # type: ignore[arg-type]


def test_features_write_rows_of_the_decoder(
    features: tuple[TokenHead, dict[str, torch.Tensor]], tmp_path: Path
) -> None:
    head, weights = features
    units = torch.tensor([3, 41])
    residual = HookPoint(2, "residual")
    found = written_by_features(head, description(tmp_path, target=residual))  # type: ignore[arg-type]
    torch.testing.assert_close(found.directions(units), weights["decoder"][units])
    cosines = found.cosines(units)
    assert cosines is not None
    expected = torch.nn.functional.cosine_similarity(weights["decoder"][units], weights["encoder"].T[units])
    torch.testing.assert_close(cosines.float(), expected)
    rescaled = written_by_features(head, description(tmp_path, target=residual, rescaled=True))  # type: ignore[arg-type]
    torch.testing.assert_close(rescaled.directions(units).norm(dim=1), torch.ones(2))
    heads = written_by_features(head, description(tmp_path, target=HookPoint(2, "heads")))  # type: ignore[arg-type]
    assert head.layer_modules is not None
    output = head.layer_modules[1].attn.c_proj.weight  # GPT-2 holds the transpose
    torch.testing.assert_close(heads.directions(units), weights["decoder"][units] @ output, rtol=1e-4, atol=1e-5)
    assert heads.enters
    with pytest.raises(InputError, match="its features write nothing"):
        written_by_features(head, description(tmp_path, target=HookPoint(2, "mlp_input")))  # type: ignore[arg-type]


def test_a_direction_raises_its_own_activation_by_one(
    features: tuple[TokenHead, dict[str, torch.Tensor]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, weights = features
    monkeypatch.setattr(module, "load", lambda description: {"encoder": weights["encoder"]})
    found = written_by_features(head, description(tmp_path))  # type: ignore[arg-type]
    units = torch.arange(50)
    raised = (found.directions(units) * weights["encoder"].T).sum(1)
    torch.testing.assert_close(raised, torch.ones(50))
    assert found.cosines(units) is None
