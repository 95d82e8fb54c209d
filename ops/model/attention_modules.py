"""The modules of a layer that compute attention, its output matrix, the residual and the normalisation after them."""

from dataclasses import dataclass

from torch import nn

from ops.model.architectures import Architecture, check_architecture, layer_list


@dataclass(frozen=True)
class AttentionModules:
    """The modules of one layer.

    Attributes:
        attention: the module that computes the heads' context; its second result is the second result of the attention
            function.
        projection: the module of the output matrix W_O with its bias b_O.
        residual: the module whose first argument is the residual stream.
        norm: the LayerNorm that is applied to the sum of attention and residual; None in pre-LN models, where no
            normalisation follows the sum.
    """

    attention: nn.Module
    projection: nn.Module
    residual: nn.Module
    norm: nn.LayerNorm | None


def attention_modules(model: nn.Module, model_type: str, layers: int) -> list[AttentionModules]:
    """Return the modules of every layer, from the first to the last.

    Args:
        model: a model as `AutoModel` loads it.
        model_type: the architecture's name in transformers.
        layers: number of the model's layers.

    Raises:
        InputError: the architecture's attention is not known.
    """
    architecture = check_architecture(model_type)
    return [_modules(layer, architecture) for layer in layer_list(model, layers) or []]


def _modules(layer: nn.Module, architecture: Architecture) -> AttentionModules:
    attention, projection = (layer.get_submodule(name) for name in (architecture.attention, architecture.output))
    if not architecture.norm:
        return AttentionModules(attention, projection, layer, None)
    norm = layer.get_submodule(architecture.norm)
    assert isinstance(norm, nn.LayerNorm)
    return AttentionModules(attention, projection, attention, norm)
