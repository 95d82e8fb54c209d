"""The places in each layer where activations are read, and hooks that read them during the forward pass.

At a site of neurons, single units are computed. A sparse dictionary reads the states at a hook point between these
sites: the residual stream, or the input or output of the attention and the feed-forward network.

torch is imported only by functions that read a model, because the command line imports `Site` for the choices of
`--site`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from ops.errors import with_article
from ops.model.transformers_calls import ModelError

if TYPE_CHECKING:
    import torch
    from torch import nn

Site = Literal["hidden", "mlp", "attention"]
SITES: tuple[Site, ...] = get_args(Site)
Take = Callable[["torch.Tensor"], "torch.Tensor"]

# Names of modules, relative to a layer: the attention's output projection, the feed-forward's second matrix, and its
# first one. In a gated layer the first matrix is the gate's, whose product goes through the activation function. If one
# matrix contains both, the gate's rows come first.
_NAMES = {
    "attention": (
        "attention.output.dense",
        "attention.out_lin",
        "attention.attn.o",
        "attention.dense",
        "attn.c_proj",
        "attn.attention.out_proj",
        "attn.out_proj",
        "attn.Wo",
        "layer.0.SelfAttention.o",
        "self_attn.o_proj",
        "self_attn.out_proj",
        "self_attn.dense",
        "self_attention.dense",
    ),
    "mlp": (
        "output.dense",
        "ffn.lin2",
        "layer.1.DenseReluDense.wo",
        "mlp.c_proj",
        "mlp.down_proj",
        "mlp.dense_4h_to_h",
        "mlp.fc2",
        "mlp.fc_out",
        "mlp.Wo",
        "fc2",
    ),
    "mlp_first": (
        "intermediate.dense",
        "ffn.lin1",
        "mlp.c_fc",
        "mlp.gate_proj",
        "mlp.gate_up_proj",
        "mlp.dense_h_to_4h",
        "mlp.fc1",
        "mlp.fc_in",
        "mlp.Wi",
        "fc1",
    ),
}

_NO_NAME = "a layer has no module, or several, under a known name"
_WITHOUT_HOOKS = ("albert", "flaubert", "squeezebert", "xlm", "xlnet")

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


class SiteReader:
    """Reads one site of every layer of a model, in one forward pass.

    The sites are:

    - `hidden`: the states that `output_hidden_states` returns for each layer. For the last layer this is the model's
      own output, after the final normalisation if there is one.
    - `mlp`: the values after the activation function, which are the input of the feed-forward's second matrix. In a
      gated layer they are the product with the gate.
    - `attention`: the values after the output projection W_O, before residual and normalisation.

    Attributes:
        layer_modules: the layers, from the first to the last; None if hooks on them would not work.

    Args:
        model: a model as `AutoModel` loads it.
        site: one of `SITES`.

    Raises:
        InputError: the place of the site in this architecture is not known.
    """

    def __init__(self, model: Any, layers: int, site: str) -> None:
        self.model, self.layers, self.site = model, layers, site
        self.layer_modules = find_layers(model, layers)
        if site == "hidden":
            self._modules = (self.layer_modules or [])[:-1]
            return
        if self.layer_modules is None:
            raise self._unknown("its layers are not in one list")
        self._modules = []
        for layer in self.layer_modules:
            module = find_module(layer, site)
            if module is None:
                raise self._unknown(_NO_NAME)
            self._modules.append(module)

    def read(self, inputs: dict[str, torch.Tensor], takes: Sequence[Take]) -> list[torch.Tensor]:
        """Run the model and return `takes[i](states)` for each layer i; the states are `[sentences, tokens, units]`.

        Positions that a model adds by padding further itself (Longformer, BigBird) are left out.
        """
        takes = [_of_sentences(take, inputs["input_ids"].shape) for take in takes]
        if self.site == "hidden" and self.layer_modules is None:
            states = self.model(**inputs, output_hidden_states=True).hidden_states
            # `check_layers` refuses a model that returns more states than it has layers.
            return [takes[min(i, self.layers - 1)](s) for i, s in enumerate(states[1:])]
        hooks = [(module, self.site == "mlp", take) for module, take in zip(self._modules, takes, strict=False)]
        output, taken = _run(self.model, inputs, hooks)
        if self.site == "hidden":
            taken[self.layers - 1] = takes[-1](output.last_hidden_state)
        if len(taken) < self.layers:
            raise self._unknown("its layers are not run one by one")
        return [taken[i] for i in range(self.layers)]

    def _unknown(self, why: str) -> ModelError:
        instead = "give another model" if self.site == "hidden" else "use --site hidden"
        kind = with_article(self.model.config.model_type)
        return ModelError(f"--site {self.site}: its place in {kind} is not known ({why}); {instead}")


class HookPointReader:
    """Reads some places of a model in one forward pass.

    The residual stream after the last layer is read before the final normalisation, if there is one.

    Attributes:
        modules: for each place the module at which it is read, and whether that is its input.

    Args:
        model: a model as `AutoModel` loads it.

    Raises:
        InputError: one of the places is not known for this architecture.
    """

    def __init__(self, model: nn.Module, layers: int, points: Sequence[HookPoint]) -> None:
        self.model, self.layers, self.points = model, layers, tuple(points)
        layer_modules = find_layers(model, layers)
        if layer_modules is None:
            raise _unreadable(model, self.points[0], "its layers are not in one list")
        self.modules = [module_at(model, layer_modules, point) for point in self.points]

    def read(self, inputs: dict[str, torch.Tensor], takes: Sequence[Take]) -> list[torch.Tensor]:
        """Run the model and return `takes[i](states)` for each point i; the states are `[sentences, tokens, width]`."""
        hooks = []
        for (module, enters), point, take in zip(self.modules, self.points, takes, strict=True):
            norm = module if point.place == "mlp_normalized" else None
            hooks.append((module, enters, _of_sentences(take, inputs["input_ids"].shape, norm)))
        _, taken = _run(self.model, inputs, hooks)
        for i, point in enumerate(self.points):
            if i not in taken:
                raise _unreadable(self.model, point, "its layers are not run one by one")
        return [taken[i] for i in range(len(self.points))]


def _run(
    model: Any, inputs: dict[str, torch.Tensor], hooks: Sequence[tuple[nn.Module, bool, Take]]
) -> tuple[Any, dict[int, torch.Tensor]]:
    """Run a model with hooks on some modules.

    Args:
        hooks: for each a module, whether its input is read instead of its output, and what is taken of the states.

    Returns:
        The model's output, and what each hook took, by the index of the hook; a module that was not run has nothing.
    """
    taken: dict[int, torch.Tensor] = {}
    handles = []

    def hook(i: int, enters: bool, take: Take) -> Any:
        def before(module: nn.Module, args: Any, keywords: Any) -> None:
            taken[i] = take(args[0] if args else keywords["hidden_states"])

        def after(module: nn.Module, args: Any, output: Any) -> None:
            taken[i] = take(output[0] if isinstance(output, tuple | list) else output)

        return before if enters else after

    try:
        for i, (module, enters, take) in enumerate(hooks):
            if enters:
                handles.append(module.register_forward_pre_hook(hook(i, enters, take), with_kwargs=True))
            else:
                handles.append(module.register_forward_hook(hook(i, enters, take)))
        return model(**inputs), taken
    finally:
        for handle in handles:
            handle.remove()


def _of_sentences(take: Take, shape: torch.Size, norm: nn.Module | None = None) -> Take:
    """Return a `take` of states that are first brought to the shape of the inputs, `[sentences, tokens, units]`.

    A model may pad further itself, and some architectures merge sentences and tokens into one axis. If a norm is given,
    the states are normalised by it.
    """

    def take_own(states: torch.Tensor) -> torch.Tensor:
        if norm is not None:
            states = normalised(norm, states)
        if states.dim() == 2:
            states = states.view(*shape, states.shape[-1])
        return take(states[:, : shape[1]] if states.dim() == 3 else states)

    return take_own


def find_layers(model: Any, layers: int) -> list[nn.Module] | None:
    """Return the layers, or None if hooks on them would not work.

    ALBERT runs one shared layer repeatedly. XLNet puts the token axis before the sentence axis, and SqueezeBERT puts it
    after the unit axis. The lists of XLM and FlauBERT contain parts of layers.
    """
    return None if model.config.model_type in _WITHOUT_HOOKS else layer_list(model, layers)


def layer_list(model: nn.Module, layers: int) -> list[nn.Module] | None:
    """Return a model's layers, from the first to the last.

    They are the outermost list of exactly `layers` modules; the result is None if there is no such list.
    """
    from torch import nn

    lists = [
        (name.count("."), list(module))
        for name, module in model.named_modules()
        if isinstance(module, nn.ModuleList) and len(module) == layers
    ]
    return min(lists, key=lambda pair: pair[0])[1] if lists else None


def find_module(layer: nn.Module, what: str) -> nn.Module | None:
    """Return one of a layer's modules; None if it is not known.

    Args:
        what: `attention` for the output projection, `mlp` or `mlp_first` for the feed-forward's second or first matrix.
    """
    inside = dict(layer.named_modules())
    modules = [inside[name] for name in _NAMES[what] if name in inside]
    return modules[0] if len(modules) == 1 else None


def module_at(model: nn.Module, layers: list[nn.Module], point: HookPoint) -> tuple[nn.Module, bool]:
    """Return the module at which a place is read, and whether the module's input is read instead of its output.

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
        networks = [children[name] for name in _FEED_FORWARD if name in children]
        if not networks:
            raise _unreadable(model, point, "a layer has no feed-forward network under a known name")
        return networks[0], True
    if (after := norm_after(layer, point.place)) is not None:
        return after, False
    module = find_module(layer, "mlp" if point.place == "mlp_output" else "attention")
    if module is None:
        raise _unreadable(model, point, _NO_NAME)
    return module, point.place == "heads"


def norm_before(model: nn.Module, layer: nn.Module, point: HookPoint) -> nn.Module:
    """Return the module that normalises the residual stream before a layer's feed-forward network.

    Raises:
        InputError: the module is not known, or does not compute what its kind computes.
    """
    found: Any = next((norm for name in _NORM_BEFORE if (norm := getattr(layer, name, None)) is not None), None)
    after_only = hasattr(layer, _NORM_AFTER["mlp_output"]) and not hasattr(layer, _NORM_BEFORE[0])
    if found is None or after_only or getattr(model.config, "use_parallel_residual", False):
        raise _unreadable(model, point, "a layer has no norm before its feed-forward network")
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
    raise _unreadable(model, point, f"{type(norm).__name__} is no norm of a known kind")


def normalised(norm: Any, states: torch.Tensor) -> torch.Tensor:
    """Return states normalised by a LayerNorm or an RMSNorm, without its weight and bias."""
    from torch.nn import LayerNorm, functional

    eps = getattr(norm, "variance_epsilon", getattr(norm, "eps", 0.0))
    shape = states.shape[-1:]
    if isinstance(norm, LayerNorm):
        return functional.layer_norm(states.float(), shape, eps=eps).to(states.dtype)
    return functional.rms_norm(states.float(), shape, eps=eps).to(states.dtype)


def norm_after(layer: nn.Module, place: Place) -> nn.Module | None:
    """Return the module that normalises `attention` or `mlp_output` before the residual stream; None without one."""
    after: nn.Module | None = getattr(layer, _NORM_AFTER.get(place, ""), None)
    # In most models, `post_attention_layernorm` is the name of a norm that comes before the feed-forward network.
    return after if hasattr(layer, _NORM_AFTER["mlp_output"]) else None


def _unreadable(model: Any, point: HookPoint, why: str) -> ModelError:
    kind = with_article(model.config.model_type)
    return ModelError(f"--dictionary: {point} of {kind} cannot be read ({why}); give another dictionary")
