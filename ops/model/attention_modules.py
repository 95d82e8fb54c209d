"""The modules of attention in the supported architectures: projections, output matrix, residual and normalisation."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ops.errors import InputError, with_article
from ops.model.names import ModelFacts
from ops.model.sites import layer_list

PROJECTIONS = ("q", "k", "v")
_POSITIONS = ("position_embeddings", "wpe")  # names of tables of position embeddings


@dataclass(frozen=True)
class Architecture:
    """The names of one architecture's modules, relative to a layer.

    Attributes:
        projections: the modules that project to query, key and value: three modules, or one module whose output is the
            concatenation of query, key and value.
        attention: the module that computes the heads' context; its second result is the second result of the attention
            function.
        output: the module of the output matrix W_O with its bias b_O.
        norm: the LayerNorm that is applied to the sum of attention and residual; empty for pre-LN models, which have
            none.
    """

    projections: tuple[str, ...]
    attention: str
    output: str
    norm: str = ""


_BERT = Architecture(
    ("attention.self.query", "attention.self.key", "attention.self.value"),
    "attention.self",
    "attention.output.dense",
    "attention.output.LayerNorm",
)
ARCHITECTURES = {
    "bert": _BERT,
    "roberta": _BERT,
    "xlm-roberta": _BERT,
    "camembert": _BERT,
    "electra": _BERT,
    "distilbert": Architecture(
        ("attention.q_lin", "attention.k_lin", "attention.v_lin"), "attention", "attention.out_lin", "sa_layer_norm"
    ),
    "gpt2": Architecture(("attn.c_attn",), "attn", "attn.c_proj"),
}


def check_architecture(model_type: str, name: str = "") -> Architecture:
    """Return the names of an architecture's modules, and refuse an architecture whose attention is not known."""
    if model_type not in ARCHITECTURES:
        raise InputError(
            f"--model {name or model_type}: is {with_article(model_type)}, whose attention modules are unknown; "
            f"give one of {', '.join(ARCHITECTURES)} (gpt2: mixing without the stage after the normalisation)"
        )
    return ARCHITECTURES[model_type]


@dataclass(frozen=True)
class AttentionModules:
    """The modules of one layer.

    Attributes:
        attention, projection: the modules `attention` and `output` of `Architecture`.
        residual: the module whose first argument is the residual stream.
        norm: the LayerNorm that is applied to the sum of attention and residual; None in pre-LN models, where no
            normalisation follows the sum.
    """

    attention: nn.Module
    projection: nn.Module
    residual: nn.Module
    norm: nn.LayerNorm | None


def attention_modules(model: nn.Module, model_type: str, layers: int) -> list[AttentionModules]:
    """Return the modules of every layer, from the first to the last."""
    architecture = check_architecture(model_type)
    found = []
    for layer in layer_list(model, layers) or []:
        attention, projection = (layer.get_submodule(name) for name in (architecture.attention, architecture.output))
        norm = layer.get_submodule(architecture.norm) if architecture.norm else None
        assert norm is None or isinstance(norm, nn.LayerNorm)
        found.append(AttentionModules(attention, projection, layer if norm is None else attention, norm))
    return found


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
        InputError: the architecture's attention is not known.
    """
    architecture = check_architecture(facts.model_type, facts.name)
    untyped: Any = model
    heads, projections = int(untyped.config.num_attention_heads), []
    for layer in layer_list(model, facts.layers) or []:
        modules = tuple(layer.get_submodule(name) for name in architecture.projections)
        weight = torch.cat([matrix_of(module) for module in modules]).float()
        shape = (len(PROJECTIONS), heads, len(weight) // len(PROJECTIONS) // heads)
        bias = torch.cat([bias_of(module) for module in modules]).float()
        projections.append(LayerProjections(modules, weight.reshape(*shape, -1), bias.reshape(shape)))
    return projections


def matrix_of(module: nn.Module) -> torch.Tensor:
    """Return a projection's matrix, `[outputs, inputs]`; GPT-2's modules store its transpose."""
    weight: torch.Tensor = module.weight.detach()  # type: ignore[assignment, operator]
    return weight if isinstance(module, nn.Linear) else weight.T


def bias_of(module: nn.Module) -> torch.Tensor:
    """Return a projection's bias, `[outputs]`; zeros if it has none."""
    bias: torch.Tensor | None = module.bias  # type: ignore[assignment]
    matrix = matrix_of(module)
    return matrix.new_zeros(len(matrix)) if bias is None else bias.detach()


def position_embeddings(model: nn.Module) -> tuple[nn.Embedding, int] | None:
    """Return a model's table of position embeddings and the row of the first position; None without such a table.

    In RoBERTa and similar models, the rows up to the padding row belong to no position.
    """
    for name, module in model.named_modules():
        if name.rpartition(".")[2] in _POSITIONS and isinstance(module, nn.Embedding):
            return module, 0 if module.padding_idx is None else module.padding_idx + 1
    return None


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
