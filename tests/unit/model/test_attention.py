"""Batches of one length without a mask, and the queue that no batch waits for, for the usual kinds of model."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from transformers import GPT2Config, MistralConfig, RobertaConfig

from ops.model.activations import ScoreOptions, Scorer
from ops.model.attention import NAME
from ops.model.batches import TokenBlock, length_batches
from ops.model.pooling import POOLS
from ops.model.sites import SITES, SiteReader
from ops.model.tokenizer import Tokens
from tests.unit.waits import counted_waits

SIZE: dict[str, Any] = {"vocab_size": 60, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
CONFIGS: dict[str, Any] = {
    "roberta": RobertaConfig(**SIZE, intermediate_size=20, max_position_embeddings=60),
    "gpt2": GPT2Config(vocab_size=60, n_embd=16, n_layer=2, n_head=2, bos_token_id=1, eos_token_id=1),
}
# Tokens beyond a window are hidden whether there is padding or not.
WINDOW = MistralConfig(**SIZE, intermediate_size=20, num_key_value_heads=2, sliding_window=4)
LENGTHS = [5, 9, 5, 12, 9, 5, 3, 31, 9]


def sentences() -> list[Tokens]:
    draw = np.random.default_rng(0)
    return [Tokens(draw.integers(6, 60, n).tolist(), [1, *[0] * (n - 2), 1], False) for n in LENGTHS]


def by_length() -> list[list[int]]:
    return [rows.tolist() for rows in length_batches(np.array(LENGTHS), 1_000, equal_lengths=True)]


def scored(scorer: Scorer, groups: list[list[int]]) -> list[torch.Tensor]:
    """Each layer's activations, the sentences in their order."""
    own = sentences()
    order = [row for rows in groups for row in rows]
    layers = zip(*(scorer.score([own[row] for row in rows]) for rows in groups), strict=True)
    return [torch.cat(layer)[np.argsort(order)] for layer in layers]


@pytest.mark.parametrize("kind", CONFIGS)
def test_equal_lengths_without_a_mask_give_what_padding_gives(scorer: Callable[..., Scorer], kind: str) -> None:
    padded, queued = scorer(CONFIGS[kind]), scorer(CONFIGS[kind], queued=True)
    assert queued.reader.model.config._attn_implementation == NAME  # type: ignore[union-attr]
    everyone = [list(range(len(LENGTHS)))]
    for site, pool, special_tokens in product(SITES, POOLS, ("include", "exclude")):
        for own in (padded, queued):
            own.options = own.options._replace(pool=pool, special_tokens=special_tokens)
            own.reader = SiteReader(own.reader.model, 2, site)
        expected = scored(padded, everyone)
        for found in (scored(queued, by_length()), scored(queued, everyone), scored(padded, by_length())):
            for ours, theirs in zip(found, expected, strict=True):
                torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


def test_a_window_stays_where_no_padding_is(scorer: Callable[..., Scorer]) -> None:
    padded, queued = scorer(WINDOW), scorer(WINDOW, queued=True)
    for ours, theirs in zip(scored(queued, by_length()), scored(padded, [list(range(9))]), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", CONFIGS)
def test_no_batch_waits_and_only_a_padded_one_has_a_mask(scorer: Callable[..., Scorer], kind: str) -> None:
    queued, block = scorer(CONFIGS[kind], queued=True), TokenBlock.of(sentences())
    for rows in (*by_length(), list(range(len(LENGTHS)))):
        batch = TokenBlock.of([block[row] for row in rows])
        masks: list[Any] = []
        with counted_waits(masks) as waits:
            queued.score(batch)
        assert not waits
        assert len(masks) == 2
        assert all((mask is None) == batch.of_one_length for mask in masks)
    with counted_waits() as waits:
        scorer(CONFIGS[kind], queued=False).score(block)
    assert waits["__bool__"] > 0


def test_the_queue_is_chosen_apart_from_the_device() -> None:
    assert [ScoreOptions(device=d, queued=q).never_waits for d in ("cpu", "cuda") for q in (None, False, True)] == [
        False, False, True, True, False, True,
    ]  # fmt: skip
