"""A model whose states are not what they seem is found out: other layers, other shapes, neighbours that leak."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertConfig, ConvBertConfig, FNetConfig, FunnelConfig, LlamaConfig, LongformerConfig, XLMConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from ops.errors import InputError
from ops.model.activations import ScoreOptions, Scorer
from ops.model.batches import length_batches
from ops.model.check_states import CHECKED, check_layers, equal_lengths, padding_leaks, spread_lengths
from ops.model.load import read_facts
from ops.model.tokenizer import Tokenizer, Tokens

SIZE = {"vocab_size": 60, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 20}
LONGFORMER = LongformerConfig(**SIZE, attention_window=8, max_position_embeddings=80)
XLM = XLMConfig(vocab_size=60, emb_dim=16, n_layers=2, n_heads=2, max_position_embeddings=80)
CONVBERT = ConvBertConfig(**SIZE, embedding_size=16, head_ratio=1)


def sentences(lengths: tuple[int, ...] = (3, 5, 12, 27)) -> list[Tokens]:
    draw = np.random.default_rng(0)
    return [Tokens(draw.integers(6, 60, n).tolist(), [1, *[0] * (n - 2), 1], False) for n in lengths]


@pytest.mark.parametrize("config", [LONGFORMER, XLM], ids=["longformer", "xlm"])
def test_what_is_read_is_each_sentence_alone(scorer: Callable[..., Scorer], config: Any) -> None:
    found, batch = scorer(config), sentences()
    check_layers(found, batch)
    assert not padding_leaks(found, batch)
    together = found.score(batch)
    for row, tokens in enumerate(batch):
        with torch.inference_mode():
            ids = torch.tensor([tokens.ids])
            states = found.reader.model(input_ids=ids, output_hidden_states=True).hidden_states
        for layer in range(2):
            expected = states[layer + 1][0, : len(tokens.ids)].mean(0)
            torch.testing.assert_close(together[layer][row], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("config", [FNetConfig(**SIZE), CONVBERT], ids=["fnet", "convbert"])
def test_padding_that_leaks_is_found(scorer: Callable[..., Scorer], config: Any) -> None:
    found = scorer(config)
    check_layers(found, sentences())
    assert padding_leaks(found, sentences())
    assert not padding_leaks(found, sentences((9, 9, 9)))


@pytest.mark.parametrize("kind", ["default", *ROPE_INIT_FUNCTIONS])
@torch.inference_mode()
def test_each_rotary_scaling_gives_a_sentence_what_it_gives_alone(make_model: Callable[..., Path], kind: str) -> None:
    """The sentences that are checked are shorter than the length at which a scaling changes."""
    scaling: dict[str, Any] = {"rope_type": kind, "rope_theta": 100.0}
    scaling |= {} if kind == "default" else {"factor": 4.0}
    if kind in ("yarn", "longrope", "llama3"):
        scaling["original_max_position_embeddings"] = 16
    if kind == "longrope":
        scaling |= {"short_factor": [1.0] * 4, "long_factor": [4.0] * 4}
    if kind == "llama3":
        scaling |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    # Weights are large, so that the angles between tokens matter.
    config = LlamaConfig(**SIZE, max_position_embeddings=64, rope_parameters=scaling, initializer_range=0.5)
    facts = read_facts(str(make_model(config)))
    scorer = Scorer(facts, ScoreOptions())
    leaks = padding_leaks(scorer, sentences((3, 5, 9)))
    assert leaks == (kind in ("longrope", "dynamic"))
    batch = sentences((15, 40, 16, 64, 17, 40, 16, 5))
    for rows in length_batches(np.array([len(t.ids) for t in batch]), 1_000, leaks):
        found = scorer.score([batch[row] for row in rows])
        for place, row in enumerate(rows):
            alone = Scorer(facts, ScoreOptions()).score([batch[row]])
            for layer, right in zip(found, alone, strict=True):
                torch.testing.assert_close(layer[place], right[0], rtol=1e-4, atol=1e-5)


def test_parts_of_layers_are_not_taken_for_layers(scorer: Callable[..., Scorer]) -> None:
    found = scorer(XLM)
    # Under a name that is not known to hold parts of layers in its list.
    found.reader.model.config.model_type = "custom"
    with pytest.raises(InputError, match="what is read of a custom is not its output_hidden_states"):
        check_layers(found, sentences())


def test_a_model_that_cannot_be_run_is_refused(scorer: Callable[..., Scorer]) -> None:
    found = scorer(BertConfig(**SIZE))
    with pytest.raises(InputError, match="cannot be run"):
        check_layers(found, [Tokens([70], [0], False)])


def test_layers_that_are_not_run_one_by_one_are_told(scorer: Callable[..., Scorer]) -> None:
    """Funnel keeps its layers in blocks, each a list that is never called itself."""
    sizes = {"d_model": 16, "n_head": 2, "d_head": 8, "d_inner": 20, "num_decoder_layers": 1, "vocab_size": 60}
    config = FunnelConfig(**sizes, block_sizes=[1, 1, 1], architectures=["FunnelModel"])
    with pytest.raises(InputError, match=r"in a funnel is not known \(its layers are not run .*\); give another model"):
        check_layers(scorer(config), sentences((12, 20)))


def test_lengths_are_spread_from_the_shortest_to_the_longest() -> None:
    lengths = np.random.default_rng(0).permutation(100).tolist()
    chosen = [lengths[i] for i in spread_lengths(lengths)]
    assert len(chosen) == CHECKED
    assert (chosen[0], chosen[-1]) == (0, 99)
    assert chosen == sorted(chosen)
    assert spread_lengths([4]) == [0]


@pytest.mark.parametrize(("kind", "leaks"), [(BertConfig, False), (ConvBertConfig, True)])
def test_who_has_no_pilot_asks_by_sentences_of_its_own(
    make_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, kind: Any, leaks: bool
) -> None:
    more = {"embedding_size": 16, "head_ratio": 1} if leaks else {}
    facts = read_facts(str(make_model(kind(**SIZE | {"vocab_size": 30522}, **more))))
    tokenizer = Tokenizer(facts)
    own = Scorer(facts, ScoreOptions(), tokenizer.pad_id)
    assert equal_lengths(own, tokenizer) is leaks
    monkeypatch.setattr(own.reader.model, "forward", lambda **_: None)
    with pytest.raises(InputError, match="cannot be run"):
        equal_lengths(own, tokenizer)
