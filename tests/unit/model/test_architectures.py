import pytest
from torch import nn

from ops.errors import InputError
from ops.model.attention_modules import ARCHITECTURES, check_architecture
from ops.model.sites import layer_list
from tests.unit.small_models import CONFIGS, LAYERS, make


def test_every_layer_has_the_modules_of_its_architecture() -> None:
    assert {ARCHITECTURES[kind] for kind in CONFIGS} == set(ARCHITECTURES.values())
    for kind in CONFIGS:
        model, facts = make(kind)
        names = check_architecture(facts.model_type, facts.name)
        layers = layer_list(model, LAYERS)
        assert layers is not None
        assert len(layers) == LAYERS
        for layer in layers:
            for name in (*names.projections, names.attention, names.output):
                assert isinstance(layer.get_submodule(name), nn.Module)
            assert not names.norm or isinstance(layer.get_submodule(names.norm), nn.LayerNorm)

    with pytest.raises(InputError, match="--model deberta: is a deberta"):
        check_architecture("deberta")


def test_the_layers_are_the_outermost_list_of_so_many() -> None:
    inner = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1)])
    outer = nn.ModuleList([nn.ModuleDict({"parts": inner}), nn.Linear(1, 1)])
    found = layer_list(nn.ModuleDict({"deep": nn.ModuleDict({"parts": inner}), "layers": outer}), 2)
    assert found == list(outer)
    assert layer_list(nn.Linear(1, 1), 2) is None
