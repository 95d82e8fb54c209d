"""The part of a model that reads text, if a model combines several: a multimodal model's text model, or an encoder.

transformers loads the complete model, so that names of weights mean what they meant when they were saved. The other
parts are dropped once the part has given the same states as the complete model.
"""

from typing import Any, NamedTuple

import torch

from ops.errors import InputError, one_line, with_article
from ops.model.trial import SAME, moved, trial_tokens

TEXT, ENCODER = "text model", "encoder"


class Part(NamedTuple):
    """The part of a model that is read.

    Attributes:
        kind: `TEXT`, `ENCODER`, or empty if the model is a single stack.
        path: the name of the part's module in the model; empty for the model itself.
        model: the part.
    """

    kind: str
    path: str
    model: Any


def config_of_part(config: Any) -> Any:
    """Return the configuration of the part that reads text; of a single stack, its own.

    Raises:
        ValueError: there are several such parts.
    """
    if getattr(config, "is_encoder_decoder", False):
        return config.get_text_config(encoder=True)
    return config.get_text_config()


def find_part(name: str, whole: Any) -> Part:
    """Return the part of a model that reads text.

    Args:
        name: the name that the user gave, for the error message.
        whole: a model as `AutoModel` loads it, with or without weights.

    Raises:
        InputError: no part of the model reads text alone, or the model is the decoder of an encoder-decoder.
    """
    from transformers import PreTrainedModel

    config, kind = whole.config, with_article(whole.config.model_type)
    two = all(isinstance(getattr(whole, part, None), PreTrainedModel) for part in ("encoder", "decoder"))
    if two and getattr(config, "is_decoder", False):
        raise InputError(
            f"--model {name}: is the decoder of an encoder-decoder ({config.model_type}), which is not read; "
            "give the complete model, whose encoder is read"
        )
    # An encoder that was saved alone has the class of two stacks here; the weights of the decoder are missing.
    if getattr(config, "is_encoder_decoder", False) or two:
        found, what = [whole.get_encoder()], ENCODER
    else:
        text = config_of_part(config)
        if text is config:
            if whole.main_input_name != "input_ids":
                raise InputError(f"--model {name}: takes no text ({whole.main_input_name}); give a language model")
            return Part("", "", whole)
        found, what = [m for m in whole.modules() if m is not whole and _is_of(m, text)], TEXT
    for part in found:
        if isinstance(part, PreTrainedModel) and part is not whole and part.main_input_name == "input_ids":
            return Part(what, next(path for path, module in whole.named_modules() if module is part), part)
    raise InputError(f"--model {name}: is {kind}, no part of which reads text alone; give a language model")


def _is_of(module: Any, config: Any) -> bool:
    from transformers import PreTrainedModel

    same = isinstance(module, PreTrainedModel) and type(module.config) is type(config)
    return same and module.get_output_embeddings() is None  # a model with a head holds the one without


def outside(whole: Any, part: Part) -> tuple[str, ...]:
    """Return the beginnings of the names of weights that the part does not use, such as `vision_tower.`.

    Tables of embeddings may be shared with the part, and are not among them.
    """
    found, here, place = [], whole, ""
    for step in part.path.split(".") if part.path else ():
        found += [
            f"{place}{child}."
            for child, module in here.named_children()
            if child != step and not isinstance(module, torch.nn.Embedding)
        ]
        here, place = getattr(here, step), f"{place}{step}."
    return tuple(found)


@torch.inference_mode()
def check_part(name: str, whole: Any, part: Part) -> None:
    """Refuse a part if it alone does not compute what it computes in the complete model for a text.

    Args:
        name: the name that the user gave, for the error message.
        whole: the model, on the device and ready to run.
        part: its part.

    Raises:
        InputError: the states differ, or the model cannot be run with text alone.
    """
    kind = with_article(whole.config.model_type)
    try:
        inputs = trial_tokens(part.model)
        if part.kind == ENCODER:
            right = whole(**inputs, decoder_input_ids=inputs["input_ids"][:, :1]).encoder_last_hidden_state
        else:
            output = whole(**inputs, output_hidden_states=True)
            right = getattr(output, "last_hidden_state", None)
            right = output.hidden_states[-1] if right is None else right  # a class that always has a head
        found = part.model(**inputs).last_hidden_state
        same = found.shape == right.shape and moved(found, right) <= SAME
    except Exception as error:
        raise InputError(
            f"--model {name}: is {kind}, whose {part.kind} cannot be compared with the complete model "
            f"({one_line(error, 120)}); save the {part.kind} alone, with the tokenizer, and give that directory"
        ) from error
    if not same:
        raise InputError(
            f"--model {name}: is {kind}, whose {part.kind} alone has other states than in the complete model; "
            "give another model"
        )
