"""The place in each layer where a neuron's activation is read, and hooks that read it during the forward pass.

torch is imported only by functions that read a model, because the command line imports `Site` for the choices of
`--site`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from ops.errors import InputError, with_article

if TYPE_CHECKING:
    import torch
    from torch import nn

Site = Literal["hidden", "mlp", "attention"]
SITES: tuple[Site, ...] = get_args(Site)

# Names of the attention's output projection and of the feed-forward's second matrix, relative to a layer.
_ATTENTION_OUTPUT = (
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
)
_FEED_FORWARD_OUTPUT = (
    "output.dense",
    "ffn.lin2",
    "ffn_output",
    "layer.1.DenseReluDense.wo",
    "mlp.c_proj",
    "mlp.down_proj",
    "mlp.dense_4h_to_h",
    "mlp.fc2",
    "mlp.fc_out",
    "mlp.Wo",
    "fc2",
)

# Names of the feed-forward's first matrix. In a gated layer it is the gate's matrix, whose product goes through the
# activation function. If one matrix contains both, the gate's rows come first.
_FEED_FORWARD_INPUT = (
    "intermediate.dense",
    "ffn.lin1",
    "ffn",
    "mlp.c_fc",
    "mlp.gate_proj",
    "mlp.gate_up_proj",
    "mlp.dense_h_to_4h",
    "mlp.fc1",
    "mlp.fc_in",
    "mlp.Wi",
    "fc1",
)

Take = Callable[["torch.Tensor"], "torch.Tensor"]

_WITHOUT_HOOKS = ("albert", "flaubert", "squeezebert", "xlm", "xlnet")


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
        layers: number of the model's layers.
        site: one of `SITES`.

    Raises:
        InputError: the place of the site in this architecture is not known.
    """

    def __init__(self, model: nn.Module, layers: int, site: str) -> None:
        self.model, self.layers, self.site = model, layers, site
        self.layer_modules = find_layers(model, layers)
        if site != "hidden":
            if self.layer_modules is None:
                raise InputError(_unknown(model, site, "its layers are not in one list"))
            self._site_modules = []
            for layer in self.layer_modules:
                module, why = find_module(layer, site)
                if module is None:
                    raise InputError(_unknown(model, site, why))
                self._site_modules.append(module)

    def read(self, inputs: dict[str, torch.Tensor], take: Take) -> list[torch.Tensor]:
        """Run the model and return `take(states)` for each layer; the states are `[sentences, tokens, units]`.

        Positions that a model adds by padding further itself (Longformer, BigBird) are left out.
        """
        return self.read_each(inputs, [take] * self.layers)

    def read_each(self, inputs: dict[str, torch.Tensor], takes: Sequence[Take]) -> list[torch.Tensor]:
        """Do the same as `read`, with a separate `take` for each layer."""
        shape = inputs["input_ids"].shape
        takes = [cut_to(take, shape[1]) for take in takes]
        if self.site == "hidden" and self.layer_modules is None:
            states = self.model(**inputs, output_hidden_states=True).hidden_states
            # `check_layers` refuses a model that returns more states than it has layers.
            return [takes[min(i, self.layers - 1)](s) for i, s in enumerate(states[1:])]
        found: dict[int, torch.Tensor] = {}
        handles = []
        try:
            if self.site == "hidden":
                for i, layer in enumerate((self.layer_modules or [])[:-1]):
                    handles.append(layer.register_forward_hook(output_hook(found, i, takes[i])))
            elif self.site == "attention":
                for i, module in enumerate(self._site_modules):
                    handles.append(module.register_forward_hook(output_hook(found, i, unfolded(takes[i], shape))))
            else:
                for i, module in enumerate(self._site_modules):
                    hook = input_hook(found, i, unfolded(takes[i], shape))
                    handles.append(module.register_forward_pre_hook(hook, with_kwargs=True))
            last = self.model(**inputs).last_hidden_state
        finally:
            for handle in handles:
                handle.remove()
        if self.site == "hidden":
            found[self.layers - 1] = takes[-1](last)
        if len(found) < self.layers:
            raise InputError(_unknown(self.model, self.site, "its layers are not run one by one"))
        return [found[i] for i in range(self.layers)]


def output_hook(found: dict[int, torch.Tensor], i: int, take: Take) -> Any:
    """Return a forward hook that stores `take` of a module's output in `found[i]`."""

    def hook(module: nn.Module, args: Any, output: Any) -> None:
        found[i] = take(output[0] if isinstance(output, tuple | list) else output)

    return hook


def input_hook(found: dict[int, torch.Tensor], i: int, take: Take) -> Any:
    """Return a pre-hook, called with keywords, that stores `take` of a module's input in `found[i]`."""

    def hook(module: nn.Module, args: Any, keywords: Any) -> None:
        found[i] = take(args[0] if args else keywords["hidden_states"])

    return hook


def cut_to(take: Take, tokens: int) -> Take:
    """Return a `take` that first cuts states to this number of tokens, because a model may pad further itself."""
    return lambda states: take(states[:, :tokens] if states.dim() == 3 else states)


def unfolded(take: Take, shape: torch.Size) -> Take:
    """Return a `take` that first separates sentences and tokens if an architecture merged them into one axis."""
    return lambda states: take(states if states.dim() == 3 else states.view(*shape, states.shape[-1]))


def find_layers(model: nn.Module, layers: int) -> list[nn.Module] | None:
    """Return the layers, or None if hooks on them would not work.

    ALBERT runs one shared layer repeatedly. XLNet puts the token axis before the sentence axis, and SqueezeBERT puts it
    after the unit axis. The lists of XLM and FlauBERT contain parts of layers.
    """
    from ops.model.architectures import layer_list

    if getattr(getattr(model, "config", None), "model_type", "") in _WITHOUT_HOOKS:
        return None
    return layer_list(model, layers)


def find_module(layer: nn.Module, site: str) -> tuple[nn.Module | None, str]:
    """Return a layer's output projection (`attention`) or second matrix (`mlp`), or None and the reason.

    Args:
        layer: one of a model's layers.
        site: `attention` or `mlp`.
    """
    names = _ATTENTION_OUTPUT if site == "attention" else _FEED_FORWARD_OUTPUT
    inside = dict(layer.named_modules())
    modules = [inside[name] for name in names if name in inside]
    if len(modules) != 1:
        return None, f"{len(modules)} of the known names are in a layer"
    return modules[0], ""


def find_first_matrix(layer: nn.Module) -> nn.Module | None:
    """Return a layer's first feed-forward matrix (in a gated layer, the gate's); None if it is not known."""
    inside = dict(layer.named_modules())
    modules = [inside[name] for name in _FEED_FORWARD_INPUT if hasattr(inside.get(name), "weight")]
    return modules[0] if len(modules) == 1 else None


def _unknown(model: nn.Module, site: str, why: str) -> str:
    kind = getattr(getattr(model, "config", None), "model_type", type(model).__name__)
    instead = "give another model" if site == "hidden" else "use --site hidden"
    return f"--site {site}: its place in {with_article(kind)} is not known ({why}); {instead}"
