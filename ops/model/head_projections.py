"""The query, key and value projections of every attention head of a model: their modules and matrices."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ops.errors import InputError
from ops.model.architectures import check_architecture
from ops.model.load import ModelFacts

PROJECTIONS = ("q", "k", "v")


@dataclass(frozen=True)
class LayerProjections:
    """One layer's projections.

    Attributes:
        modules: the projecting modules, in the order query, key, value; all of them read the same input x of the layer.
        weight: `[3, heads, size, width]` float32: the matrices W of query, key and value of each head, applied as W x.
        bias: `[3, heads, size]` float32.
    """

    modules: tuple[nn.Module, ...]
    weight: torch.Tensor
    bias: torch.Tensor

    @property
    def heads(self) -> int:
        """The number of the layer's heads."""
        return int(self.weight.shape[1])


def head_projections(model: nn.Module, facts: ModelFacts) -> list[LayerProjections]:
    """Return the projections of every layer, from the first to the last.

    Raises:
        InputError: the architecture's attention is not known, or its modules are not in every layer.
    """
    architecture = check_architecture(facts.model_type, facts.name)
    config: Any = model.config
    heads = int(config.num_attention_heads)
    named = [
        [module for name, module in model.named_modules() if f".{name}".endswith(f".{end}")]
        for end in architecture.projections
    ]
    if any(len(found) != facts.layers for found in named):
        raise InputError(
            f"--model {facts.name}: {len(named[0])} query projections were found in {facts.layers} layers; "
            "give a model as transformers saves it"
        )
    return [_layer(tuple(modules), heads) for modules in zip(*named, strict=True)]


def _layer(modules: tuple[nn.Module, ...], heads: int) -> LayerProjections:
    matrices = [matrix_of(module) for module in modules]
    weight = torch.cat(matrices).float()
    size = len(weight) // len(PROJECTIONS) // heads
    bias = torch.cat([_bias(m, len(w)) for m, w in zip(modules, matrices, strict=True)]).float()
    shape = (len(PROJECTIONS), heads, size)
    return LayerProjections(modules, weight.reshape(*shape, -1), bias.reshape(shape))


def matrix_of(module: nn.Module) -> torch.Tensor:
    """Return a projection's matrix, `[outputs, inputs]`; GPT-2's modules store its transpose."""
    weight: torch.Tensor = module.weight.detach()  # type: ignore[assignment, operator]
    return weight if isinstance(module, nn.Linear) else weight.T


def _bias(module: nn.Module, size: int) -> torch.Tensor:
    bias: torch.Tensor | None = module.bias  # type: ignore[assignment]
    weight: torch.Tensor = module.weight  # type: ignore[assignment]
    return weight.new_zeros(size) if bias is None else bias.detach()


def word_embeddings(model: nn.Module, facts: ModelFacts) -> torch.Tensor:
    """Return the table of word embeddings, without positions and normalisation, `[vocabulary, width]`.

    Raises:
        InputError: the rows are not as wide as the heads' input (as in ELECTRA's factorised table), some value is not
            finite, or all values are zero.
    """
    vectors: torch.Tensor = model.get_input_embeddings().weight.detach()  # type: ignore[operator]
    if vectors.shape[1] != facts.width:
        raise InputError(
            f"--model {facts.name}: its word embeddings are {vectors.shape[1]} wide and its layers {facts.width}, "
            "so no head can read them directly; give a model whose table has the layers' width"
        )
    if not bool(torch.isfinite(vectors).all()):
        raise InputError(f"--model {facts.name}: its word embeddings are not all finite; give other weights")
    if not bool(vectors.any()):
        raise InputError(f"--model {facts.name}: its word embeddings are all zero; give other weights")
    return vectors
