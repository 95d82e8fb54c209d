"""Whether a model is a decoder, by trying it, because neither its class nor its configuration decides that."""

from functools import lru_cache
from typing import Any

import numpy as np
import torch

from ops.model.load import load_model
from ops.model.names import ModelFacts
from ops.model.parts import moved
from ops.model.quantised import method_of
from ops.model.tokenizer import Tokenizer
from ops.model.transformers_calls import ModelError, naming, refusing

TEXTS, REPLACEMENTS = 8, 4
SHORTEST, LONGEST = 3, 6  # ordinary tokens of a text: so few that no sliding window hides the last one from the first
# The largest move of a decoder's first token, which is rounding, and the smallest move in a model that reads both ways.
# Quantised activations may share a scale with the replaced token, which moves them a little in a decoder too.
ROUNDING, MOVES, QUANTISED_MOVES = 1e-6, 1e-5, 1e-2


def is_decoder(facts: ModelFacts) -> bool:
    """Return whether the state of a token depends only on the tokens up to it; the answer is kept with the facts.

    The model is loaded in float32 on the CPU, once in a process.

    Raises:
        InputError: the model cannot be loaded or run, or the first token moves too little for a model that reads both
            ways and too much for a decoder.
    """
    if "decoder" not in facts.tried:
        facts.tried["decoder"] = _try_direction(facts)
    return facts.tried["decoder"]


@lru_cache(maxsize=8)
def _try_direction(facts: ModelFacts) -> bool:
    model: Any = load_model(facts, "cpu", "float32")
    with naming(facts.name):
        with refusing("cannot be run", "give another model"):
            first, texts = trials(facts)
            move = largest_move(model, texts, first)
        if move < ROUNDING:
            return True
        quantised = method_of(model.config) or getattr(model.config, "quant_mode", False)
        if move > (QUANTISED_MOVES if quantised else MOVES):
            return False
        raise ModelError(
            f"leaks: another last token moves the state of the first one by {move:.1g} of its length, which is too "
            "much for a decoder and too little for a model that reads both ways; give another model"
        )


def trials(facts: ModelFacts) -> tuple[int, list[torch.Tensor]]:
    """Return the index of the first ordinary token, and some texts, each also with other last tokens.

    A text is `[1 + replacements, tokens]` int64: its own ids, then those with another last token. The tokens that the
    tokenizer adds surround the ordinary ones, which are drawn from the vocabulary.
    """
    tokenizer = Tokenizer(facts)
    (frame,) = tokenizer.encode(["a"])
    ordinary = [i for i, added in enumerate(frame.added) if not added] or [len(frame.ids)]
    before, after = frame.ids[: ordinary[0]], frame.ids[ordinary[-1] + 1 :]
    skipped = {"", *tokenizer.special}
    strings = tokenizer.vocabulary()[: facts.vocabulary or None]
    ids = [number for number, string in enumerate(strings) if string not in skipped]
    most, rng, texts = facts.position_limit - len(before) - len(after), np.random.default_rng(0), []
    for text in range(TEXTS):
        length = max(min(SHORTEST + text % (LONGEST - SHORTEST + 1), most), 2)
        drawn = rng.choice(ids, length + REPLACEMENTS, replace=len(ids) < length + REPLACEMENTS).tolist()
        start, lasts = drawn[: length - 1], drawn[length - 1 :]
        texts.append(torch.tensor([[*before, *start, last, *after] for last in lasts]))
    return len(before), texts


@torch.inference_mode()
def largest_move(model: Any, texts: list[torch.Tensor], first: int) -> float:
    """Return the largest distance by which another last token moves the state of a token in any layer.

    Each text is alone in its batch.

    Args:
        texts: the texts, as `trials` returns them.
        first: the index of the token whose state is compared.

    Returns:
        The distance divided by the length of the state; NaN if a state is not finite.
    """
    moves = []
    for text in texts:
        right, *others = (_states(model, ids, first) for ids in text)
        moves += [moved(state, before) for other in others for state, before in zip(other, right, strict=True)]
    return float(np.max(moves))


def _states(model: Any, ids: torch.Tensor, token: int) -> list[torch.Tensor]:
    """Return the state of one token of a text after each layer, `[width]`; widths may differ (OPT)."""
    row = ids[None]
    found = model(input_ids=row, attention_mask=torch.ones_like(row), output_hidden_states=True).hidden_states[1:]
    return [states[0, token] for states in found]
