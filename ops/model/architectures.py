"""The supported architectures: the names of their attention modules, and where to find a model's layers."""

from dataclasses import dataclass

from torch import nn

from ops.errors import InputError, with_article


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
    """Return the names of an architecture's modules, and refuse an architecture whose attention is not known.

    Args:
        model_type: the architecture's name in transformers.
        name: the name that the user gave for the model.

    Raises:
        InputError: the architecture's attention is not known.
    """
    if model_type not in ARCHITECTURES:
        raise InputError(
            f"--model {name or model_type}: is {with_article(model_type)}, whose attention modules are unknown; "
            f"give one of {', '.join(ARCHITECTURES)} (gpt2: mixing without the stage after the normalisation)"
        )
    return ARCHITECTURES[model_type]


def layer_list(model: nn.Module, layers: int) -> list[nn.Module] | None:
    """Return a model's layers, from the first to the last.

    They are the outermost list of exactly `layers` modules; the result is None if there is no such list.
    """
    lists = [
        (name.count("."), list(module))
        for name, module in model.named_modules()
        if isinstance(module, nn.ModuleList) and len(module) == layers
    ]
    return min(lists, key=lambda found: found[0])[1] if lists else None
