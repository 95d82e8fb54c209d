"""The part of a model that reads text, if a model combines several: a multimodal model's text model, or an encoder.

transformers loads the complete model, so that names of weights mean what they meant when they were saved. The other
parts are dropped once the part has given the same states as the complete model, on a few tokens.
"""

from typing import Any, NamedTuple

import torch

from ops.errors import with_article
from ops.model.transformers_calls import ModelError, refusing

TEXT, ENCODER = "text model", "encoder"
_SAME = 1e-2  # of a vector's length: more than rounding in any arithmetic, far less than a part left out


class Part(NamedTuple):
    """The part of a model that is read.

    Attributes:
        model: the part.
        kind: `TEXT`, `ENCODER`, or empty if the model is a single stack.
        path: the name of the part's module in the model; empty for the model itself.
    """

    model: Any
    kind: str = ""
    path: str = ""


def config_of_part(config: Any) -> Any:
    """Return the configuration of the part that reads text; of a single stack, its own.

    Raises:
        ValueError: there are several such parts.
    """
    if getattr(config, "is_encoder_decoder", False):
        return config.get_text_config(encoder=True)
    return config.get_text_config()


def find_part(whole: Any) -> Part:
    """Return the part of a model that reads text.

    Args:
        whole: a model as `AutoModel` loads it, with or without weights.

    Raises:
        ModelError: no part of the model reads text alone, or the model is the decoder of an encoder-decoder.
    """
    from transformers import PreTrainedModel

    config = whole.config
    two = all(isinstance(getattr(whole, part, None), PreTrainedModel) for part in ("encoder", "decoder"))
    if two and getattr(config, "is_decoder", False):
        raise ModelError(
            f"is the decoder of an encoder-decoder ({config.model_type}), which is not read; give the complete model, "
            "whose encoder is read"
        )
    # An encoder that was saved alone has the class of two stacks here; the weights of the decoder are missing.
    if getattr(config, "is_encoder_decoder", False) or two:
        candidates, kind = [whole.get_encoder()], ENCODER
    elif (text := config_of_part(config)) is not config:
        candidates, kind = [m for m in whole.modules() if m is not whole and _is_of(m, text)], TEXT
    elif whole.main_input_name != "input_ids":
        raise ModelError(f"takes no text ({whole.main_input_name}); give a language model")
    else:
        return Part(whole)
    for part in candidates:
        if isinstance(part, PreTrainedModel) and part is not whole and part.main_input_name == "input_ids":
            return Part(part, kind, next(path for path, module in whole.named_modules() if module is part))
    kind = with_article(config.model_type)
    raise ModelError(f"is {kind}, no part of which reads text alone; give a language model")


def _is_of(module: Any, config: Any) -> bool:
    from transformers import PreTrainedModel

    same = isinstance(module, PreTrainedModel) and type(module.config) is type(config)
    return same and module.get_output_embeddings() is None  # a model with a head holds the one without


def outside(whole: Any, part: Part) -> tuple[str, ...]:
    """Return the beginnings of the names of weights that the part does not use, such as `vision_tower.`.

    Tables of embeddings may be shared with the part, and are not among them.
    """
    names, here, prefix = [], whole, ""
    for step in part.path.split(".") if part.path else ():
        others = [name for name, module in here.named_children() if not isinstance(module, torch.nn.Embedding)]
        names += [f"{prefix}{name}." for name in others if name != step]
        here, prefix = getattr(here, step), f"{prefix}{step}."
    return tuple(names)


@torch.inference_mode()
def check_part(whole: Any, part: Part) -> None:
    """Refuse a part if it alone does not compute what it computes in the complete model for a text.

    Args:
        whole: the model, on the device and ready to run.

    Raises:
        ModelError: the states differ, or the model cannot be run with text alone.
    """
    kind = f"is {with_article(whole.config.model_type)}, whose {part.kind}"
    advice = f"save the {part.kind} alone, with the tokenizer, and give that directory"
    with refusing(f"{kind} cannot be compared with the complete model", advice):
        inputs = trial_tokens(part.model)
        if part.kind == ENCODER:
            right = whole(**inputs, decoder_input_ids=inputs["input_ids"][:, :1]).encoder_last_hidden_state
        else:
            output = whole(**inputs, output_hidden_states=True)
            right = getattr(output, "last_hidden_state", None)
            right = output.hidden_states[-1] if right is None else right  # a class that always has a head
        states = part.model(**inputs).last_hidden_state
        same = states.shape == right.shape and moved(states, right) <= _SAME
    if not same:
        raise ModelError(f"{kind} alone has other states than in the complete model; give another model")


def trial_tokens(model: Any) -> dict[str, Any]:
    """Return the inputs of one short sentence of ordinary tokens, `[1, tokens]`, on a model's device.

    Tokens that the configuration names are left out, because they stand for an image, padding or the end.
    """
    named, configs = set(), [model.config.to_dict()]
    for config in configs:
        configs += [value for value in config.values() if isinstance(value, dict)]
        named |= {value for key, value in config.items() if "token" in str(key) and isinstance(value, int)}
    table = model.get_input_embeddings().weight
    ordinary = [i for i in range(3, table.shape[0]) if i not in named][:9] or [0]
    ids = torch.tensor([ordinary], device=table.device)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def moved(found: torch.Tensor, right: torch.Tensor) -> float:
    """Return the greatest distance between corresponding vectors, divided by the length of the vector in `right`."""
    found, right = found.double(), right.double()
    return float(((found - right).norm(dim=-1) / right.norm(dim=-1).clamp_min(1e-6)).max())
