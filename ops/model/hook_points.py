"""Places in a layer that a sparse dictionary may read, and hooks that read them during the forward pass.

At a site of neurons, single units are computed (`ops.model.sites`). A sparse dictionary reads the states that flow
between these sites: the residual stream, or the input or output of the attention and the feed-forward network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from ops.errors import InputError, with_article
from ops.model.sites import Take, cut_to, find_layers, find_module, input_hook, output_hook, unfolded

if TYPE_CHECKING:
    import torch
    from torch import nn

Place = Literal["residual", "attention", "heads", "before_mlp", "mlp_normalized", "mlp_input", "mlp_output"]
PLACES: tuple[Place, ...] = get_args(Place)
MEANS: dict[Place, str] = {
    "residual": "the residual stream",
    "attention": "the attention's output",
    "heads": "the heads' outputs before the attention's output matrix",
    "before_mlp": "the residual stream between attention and feed-forward network",
    "mlp_normalized": "the normalised input of the feed-forward network, without the norm's weights,",
    "mlp_input": "the input of the feed-forward network",
    "mlp_output": "the output of the feed-forward network",
}
# Names of the feed-forward network, relative to a layer; the first name that exists is used.
_FEED_FORWARD = ("intermediate", "mlp", "ffn", "feed_forward", "fc1")
# The module that normalises before the feed-forward network; the first name that exists is used.
_NORM_BEFORE = ("pre_feedforward_layernorm", "post_attention_layernorm", "ln_2")
# In a layer that normalises after the feed-forward network, these modules normalise the outputs.
_NORM_AFTER = {"mlp_output": "post_feedforward_layernorm", "attention": "post_attention_layernorm"}


class HookPoint(NamedTuple):
    """A place in a layer.

    Layer 0 is the embeddings as they enter the first layer; its only place is the residual stream.
    """

    layer: int
    place: Place

    def __str__(self) -> str:
        if self.layer == 0:
            return "the embeddings (layer 0)"
        after = "after" if self.place == "residual" else "in"
        return f"{MEANS[self.place]} {after} layer {self.layer}"


class HookPointReader:
    """Reads some places of a model in one forward pass.

    The residual stream after the last layer is read before the final normalisation, if there is one.

    Args:
        model: a model as `AutoModel` loads it.
        layers: number of the model's layers.
        points: the places that are read.

    Raises:
        InputError: one of the places is not known for this architecture.
    """

    def __init__(self, model: nn.Module, layers: int, points: Sequence[HookPoint]) -> None:
        self.model, self.layers, self.points = model, layers, tuple(points)
        found = find_layers(model, layers)
        if found is None:
            raise InputError(_unknown(model, self.points[0], "its layers are not in one list"))
        self._modules = [module_at(model, found, point) for point in self.points]

    def read_each(self, inputs: dict[str, torch.Tensor], takes: Sequence[Take]) -> list[torch.Tensor]:
        """Run the model and return `takes[i](states)` for each point i; the states are `[sentences, tokens, width]`."""
        shape = inputs["input_ids"].shape
        found: dict[int, torch.Tensor] = {}
        handles = []
        try:
            for i, (module, enters) in enumerate(self._modules):
                take = unfolded(cut_to(takes[i], shape[1]), shape)
                if self.points[i].place == "mlp_normalized":
                    take = normalised_first(module, take)
                if enters:
                    handles.append(module.register_forward_pre_hook(input_hook(found, i, take), with_kwargs=True))
                else:
                    handles.append(module.register_forward_hook(output_hook(found, i, take)))
            self.model(**inputs)
        finally:
            for handle in handles:
                handle.remove()
        for i, point in enumerate(self.points):
            if i not in found:
                raise InputError(_unknown(self.model, point, "its layers are not run one by one"))
        return [found[i] for i in range(len(self.points))]


def module_at(model: nn.Module, layers: list[nn.Module], point: HookPoint) -> tuple[nn.Module, bool]:
    """Return the module at which a place is read, and whether the module's input is read instead of its output.

    Args:
        model: the model, for the error message.
        layers: the model's layers, from the first to the last.
        point: the place.

    Raises:
        InputError: the place is not known for this architecture.
    """
    if point.place == "residual":
        return (layers[point.layer - 1], False) if point.layer else (layers[0], True)
    layer = layers[point.layer - 1]
    if point.place in ("before_mlp", "mlp_normalized"):
        return norm_before(model, layer, point), True
    if point.place == "mlp_input":
        children: dict[str, Any] = dict(layer.named_children())
        there = [children[name] for name in _FEED_FORWARD if name in children]
        if not there:
            raise InputError(_unknown(model, point, "a layer has no feed-forward network under a known name"))
        return there[0], True
    if (after := norm_after(layer, point.place)) is not None:
        return after, False
    found, why = find_module(layer, "mlp" if point.place == "mlp_output" else "attention")
    if found is None:
        raise InputError(_unknown(model, point, why))
    return found, point.place == "heads"


def norm_before(model: nn.Module, layer: nn.Module, point: HookPoint) -> nn.Module:
    """Return the module that normalises the residual stream before a layer's feed-forward network.

    Args:
        model: the model, for the error message.
        layer: the layer.
        point: the place for which the module is needed.

    Raises:
        InputError: the module is not known, or does not compute what its kind computes.
    """
    found: Any = next((norm for name in _NORM_BEFORE if (norm := getattr(layer, name, None)) is not None), None)
    config: Any = model.config
    after_only = hasattr(layer, _NORM_AFTER["mlp_output"]) and not hasattr(layer, _NORM_BEFORE[0])
    if found is None or after_only or getattr(config, "use_parallel_residual", False):
        raise InputError(_unknown(model, point, "a layer has no norm before its feed-forward network"))
    if found.weight.device.type != "meta":
        _check_norm(model, found, point)
    return found  # type: ignore[no-any-return]


def _check_norm(model: nn.Module, norm: Any, point: HookPoint) -> None:
    """Refuse a norm that is not its weights times the normalised states, plus a bias; Gemma's adds 1 to the weights."""
    import torch

    weight, bias = norm.weight, getattr(norm, "bias", None)
    with torch.inference_mode():
        states = torch.linspace(-2, 3, weight.shape[0], device=weight.device, dtype=weight.dtype).square()[None, None]
        found, right = normalised(norm, states), norm.forward(states)
        for gain in (weight, 1 + weight):
            made = found * gain + (0 if bias is None else bias)
            if torch.allclose(made.float(), right.float(), rtol=2e-2, atol=1e-4):
                return
    raise InputError(_unknown(model, point, f"{type(norm).__name__} is no norm of a known kind"))


def normalised(norm: Any, states: torch.Tensor) -> torch.Tensor:
    """Return states normalised by a LayerNorm or an RMSNorm, without its weight and bias."""
    from torch.nn import LayerNorm, functional

    eps = getattr(norm, "variance_epsilon", getattr(norm, "eps", 0.0))
    shape = states.shape[-1:]
    if isinstance(norm, LayerNorm):
        return functional.layer_norm(states.float(), shape, eps=eps).to(states.dtype)
    return functional.rms_norm(states.float(), shape, eps=eps).to(states.dtype)


def normalised_first(norm: nn.Module, take: Take) -> Take:
    """Return a `take` of the states as `normalised` returns them."""
    return lambda states: take(normalised(norm, states))


def norm_after(layer: nn.Module, place: Place) -> nn.Module | None:
    """Return the module that normalises `attention` or `mlp_output` before the residual stream; None without one."""
    after: nn.Module | None = getattr(layer, _NORM_AFTER.get(place, ""), None)
    # In most models, `post_attention_layernorm` is the name of a norm that comes before the feed-forward network.
    return after if hasattr(layer, _NORM_AFTER["mlp_output"]) else None


def _unknown(model: nn.Module, point: HookPoint, why: str) -> str:
    kind = getattr(getattr(model, "config", None), "model_type", type(model).__name__)
    return f"--dictionary: {point} of {with_article(kind)} cannot be read ({why}); give another dictionary"
