"""The variants of a model: the position given to each token, and the mask of a decoder's attention."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch

from ops.errors import InputError
from ops.positions import masks
from ops.sampling import POSITIONS
from ops.shards import Ids

DEFAULT, SHIFTED = "default", "shifted"
Mask = Callable[[int, int, torch.dtype], torch.Tensor]


@dataclass(frozen=True)
class Texts:
    """The data of a batch that a variant may use.

    Attributes:
        places: the position numbers that the model itself gives the tokens, `[texts, tokens]` int64.
        real: which positions are tokens and not padding, `[texts, tokens]` bool.
        sent_ids: the ids of the texts, `[texts]` int64.
        shift, seed: the options of the variants.
    """

    places: torch.Tensor
    real: torch.Tensor
    sent_ids: Ids
    shift: int
    seed: int


def shuffle(texts: Texts) -> torch.Tensor:
    """Return each text's position numbers in a random order that depends on the seed and the text's id."""
    moved = texts.places.clone()
    for row, (sent_id, length) in enumerate(zip(texts.sent_ids.tolist(), texts.real.sum(1).tolist(), strict=True)):
        order = np.random.default_rng([texts.seed, POSITIONS, sent_id]).permutation(length)
        moved[row, :length] = texts.places[row, torch.from_numpy(order).to(texts.places.device)]
    return moved


@dataclass(frozen=True)
class Variant:
    """One variant.

    Attributes:
        embeds: whether position embeddings are added.
        positions: returns the position numbers for a batch, whose embeddings are added; None for the model's own.
        bias: returns the mask that is added to the attention scores; None for the model's own mask.
        factor: whether the attention weights are multiplied by the linear mask after the softmax.
    """

    embeds: bool = True
    positions: Callable[[Texts], torch.Tensor] | None = None
    bias: Mask | None = None
    factor: bool = False


# In the order of the tables and figures. Without position embeddings the variant is `none` (Hirata 2024).
VARIANTS: dict[str, Variant] = {
    DEFAULT: Variant(),
    "none": Variant(embeds=False),
    "shuffled": Variant(positions=shuffle),
    SHIFTED: Variant(positions=lambda texts: texts.places + texts.shift),  # some may be beyond the model's table
    "constant": Variant(positions=lambda texts: texts.places[:, :1].expand_as(texts.places)),
    "none_self_only": Variant(embeds=False, bias=masks.self_only),
    "none_additive_linear": Variant(embeds=False, bias=masks.additive_linear),
    "none_multiplicative_linear": Variant(embeds=False, bias=masks.log_linear),
    "none_multiplicative_linear_raw": Variant(embeds=False, bias=masks.causal, factor=True),
    "none_alibi": Variant(embeds=False, bias=masks.alibi),
    "multiplicative_linear": Variant(bias=masks.log_linear),
}
ENCODER_VARIANTS = tuple(name for name, v in VARIANTS.items() if name != DEFAULT and v.bias is None)
# Measured by default: for a decoder all variants of Hirata 2024, and the mask that the slides leave for later.
DECODER_DEFAULTS = tuple(name for name, v in VARIANTS.items() if not v.embeds)


def choose_variants(names: Iterable[str], decoder: bool) -> tuple[str, ...]:
    """Return the variants to measure in addition to `default`, in order; without names, the model kind's defaults.

    Raises:
        InputError: a variant does not exist or is only for decoders, or only `default` is named.
    """
    wanted = dict.fromkeys(names)
    possible = tuple(VARIANTS) if decoder else (DEFAULT, *ENCODER_VARIANTS)
    for name in wanted:
        if name not in VARIANTS:
            raise InputError(f"--variants {name}: there is no such variant; name one of {', '.join(VARIANTS)}")
        if name not in possible:
            raise InputError(f"--variants {name}: masks are for decoders; name one of {', '.join(possible)}")
    chosen = tuple(name for name in VARIANTS if name in wanted and name != DEFAULT)
    if wanted and not chosen:
        raise InputError("--variants default: is what the others are compared with; name another one")
    return chosen or (DECODER_DEFAULTS if decoder else ENCODER_VARIANTS)
