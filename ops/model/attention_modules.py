"""Where attention, its output matrix, the residual and the normalisation after them stand in a layer."""

from dataclasses import dataclass

from torch import nn

from ops.errors import InputError

# Names relative to a layer: attention, output matrix W_O, and (post-LN) the normalisation that takes the sum.
_POST_LN = {
    "attention.self": ("attention.output.dense", "attention.output.LayerNorm"),
    "attention": ("attention.out_lin", "sa_layer_norm"),
}
_NAMES = {
    "bert": "attention.self",
    "roberta": "attention.self",
    "xlm-roberta": "attention.self",
    "camembert": "attention.self",
    "electra": "attention.self",
    "distilbert": "attention",
    "gpt2": "attn",
}


@dataclass(frozen=True)
class AttentionPoint:
    """The modules of one layer.

    Attributes:
        attention: computes the heads' context; its second result is what the attention function gives second.
        projection: the output matrix W_O with its bias b_O.
        residual: the module whose first argument is the residual stream.
        norm: the LayerNorm that takes the sum of both, or None (pre-LN: no normalisation follows the sum).
    """

    attention: nn.Module
    projection: nn.Module
    residual: nn.Module
    norm: nn.LayerNorm | None


def attention_points(model: nn.Module, model_type: str, layers: int) -> list[AttentionPoint]:
    """Find the points of every layer.

    Args:
        model: as `AutoModel` gives it.
        model_type: its architecture's name in transformers.
        layers: number of its layers.

    Raises:
        InputError: the architecture is not among those that are known.
    """
    check_architecture(model_type)
    lists = [m for m in model.modules() if isinstance(m, nn.ModuleList) and len(m) == layers]
    return [_point(block, _NAMES[model_type]) for block in lists[0]]


def check_architecture(model_type: str, name: str = "") -> None:
    """Refuse an architecture whose attention is not known; `name` is what the user called the model.

    Raises:
        InputError: it is not known.
    """
    if model_type not in _NAMES:
        raise InputError(
            f"--model {name or model_type}: mixing in a {model_type} is not known; it works for {', '.join(_NAMES)} "
            "(gpt2 without the stage after the normalisation)"
        )


def _point(block: nn.Module, attention: str) -> AttentionPoint:
    if attention not in _POST_LN:
        return AttentionPoint(block.get_submodule("attn"), block.get_submodule("attn.c_proj"), block, None)
    projection, name = _POST_LN[attention]
    norm = block.get_submodule(name)
    assert isinstance(norm, nn.LayerNorm)
    own = block.get_submodule(attention)
    return AttentionPoint(own, block.get_submodule(projection), own, norm)
