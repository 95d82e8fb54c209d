"""Checks that the states read from a model are its own hidden states and do not depend on padding."""

from typing import Any

import numpy as np
import torch

from ops.model.activations import Scorer
from ops.model.batches import pad
from ops.model.parts import moved
from ops.model.quantised import method_of
from ops.model.sites import SiteReader
from ops.model.tokenizer import Tokenizer, Tokens
from ops.model.transformers_calls import ModelError, naming, refusing

CHECKED = 8  # sentences
# The words of the sentences that `equal_lengths` builds, and the sentences' lengths in words.
_TEXT = "the old man saw a small boat on the river before it went away again and did not come back"
_LENGTHS = (2, 4, 7, 12, 20, 40, 80)
# Rotary scalings that do not depend on the longest sentence of a batch, as all others may.
SAME_FOR_ALL_LENGTHS = ("default", "linear", "yarn", "llama3", "proportional", "axial", "ntk_alpha")
# Maximum distance by which rounding moves a vector, relative to the vector's length, over all layers.
TOLERANCE = {"float64": 1e-6, "float32": 1e-3, "float16": 2e-2, "tf32": 2e-2, "bfloat16": 1e-1}


def spread_lengths(lengths: list[int]) -> list[int]:
    """Return the indices of at most CHECKED of these lengths, evenly spread from the shortest to the longest.

    >>> spread_lengths([5, 3, 9, 4])
    [1, 3, 0, 2]
    """
    order = np.argsort(lengths, kind="stable")
    places = np.linspace(0, len(order) - 1, min(CHECKED, len(order))).round().astype(int)
    return [int(place) for place in order[places]]


def equal_lengths(scorer: Scorer, tokenizer: Tokenizer) -> bool:
    """Return whether padding changes what a model computes.

    The test uses fixed sentences, so that every worker gets the same answer.

    Raises:
        InputError: the states that are read are not the model's own hidden states, or the model cannot be run.
    """
    words = _TEXT.split() * 4
    batch = tokenizer.encode([" ".join(words[:length]) for length in _LENGTHS])
    check_layers(scorer, batch)
    return padding_leaks(scorer, batch)


@torch.inference_mode()
def check_layers(scorer: Scorer, batch: list[Tokens]) -> None:
    """Refuse a model if the states that are read differ from its own output_hidden_states.

    A quantised model is also refused if a sentence's states depend on the other sentences of its batch.

    Raises:
        InputError: the states differ in number, shape or values, or the model cannot be run.
    """
    reader, model = scorer.reader, scorer.reader.model
    ids, real, _ = pad(batch, scorer.pad_id, scorer.device)
    inputs = {"input_ids": ids, "attention_mask": real.long()}
    with naming(scorer.name):
        with refusing("cannot be run", "give another model"):
            expected = model(**inputs, output_hidden_states=True).hidden_states[1:]
            hidden = SiteReader(model, reader.layers, "hidden").read(inputs, [lambda states: states] * reader.layers)
        why = "" if len(expected) == len(hidden) else f"{len(expected)} layers where {len(hidden)} are read"
        for layer, (ours, theirs) in enumerate(zip(hidden, expected, strict=False), 1):
            theirs = theirs[:, : real.shape[1]]
            if ours.dim() != 3 or ours.shape != theirs.shape or ours.shape[:2] != real.shape:
                why = why or f"layer {layer} has a vector of another shape"
            elif moved(ours[real], theirs[real]) > TOLERANCE[scorer.options.dtype]:
                why = why or f"layer {layer} has other values"
        if why:
            kind = getattr(model.config, "model_type", "")
            raise ModelError(f"what is read of a {kind} is not its output_hidden_states ({why}); give another model")
        if (method := method_of(model.config)) and _differs_alone(scorer, _beside_extremes(model, batch)):
            raise ModelError(
                f"its weights are quantised ({method}) in a way that makes a sentence's states depend on the other "
                "sentences of its batch; give the model before quantisation"
            )


def _beside_extremes(model: Any, batch: list[Tokens]) -> list[Tokens]:
    """Return sentences, repeated to one length, and one of the tokens whose embeddings have the largest values.

    Activations that are quantised over a batch share a scale, or their outliers. The length is the same because padding
    is another question.
    """
    largest = model.get_input_embeddings().weight.abs().amax(1).topk(8).indices.tolist()
    size = max(len(tokens.ids) for tokens in batch)
    return [Tokens((ids * size)[:size], [0] * size, False) for ids in (*(tokens.ids for tokens in batch), largest)]


def padding_leaks(scorer: Scorer, batch: list[Tokens]) -> bool:
    """Return whether sentences get different states in a padded batch than alone, by more than rounding.

    Rotary scaling by the longest sentence of a batch is read from the configuration, because sentences of the batch may
    all be on the same side of the length at which the scaling changes.
    """
    return scales_by_length(scorer.reader.model) or _differs_alone(scorer, batch)


def _differs_alone(scorer: Scorer, batch: list[Tokens]) -> bool:
    """Return whether the states of a sentence differ between the batch and the sentence alone."""
    together = scorer.site_states(batch)
    return any(
        moved(layer[row : row + 1], alone) > TOLERANCE[scorer.options.dtype]
        for row, tokens in enumerate(batch)
        for layer, alone in zip(together, scorer.site_states([tokens]), strict=True)
    )


def scales_by_length(model: torch.nn.Module) -> bool:
    """Return whether a model's rotary scaling may depend on the longest sentence of a batch (longrope, dynamic)."""
    kinds = [getattr(module, "rope_type", ()) for module in model.modules()]  # by layer type in some architectures
    every = (kind for rope in kinds for kind in ([rope] if isinstance(rope, str) else dict(rope).values()))
    return not set(every) <= {*SAME_FOR_ALL_LENGTHS}
