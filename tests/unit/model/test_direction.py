"""Whether a model reads both ways is found by trying, whatever its class and its configuration."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import (
    BertConfig,
    FNetConfig,
    Gemma3TextConfig,
    GPT2Config,
    LlamaConfig,
    MistralConfig,
    MixtralConfig,
    ModernBertConfig,
    XLNetConfig,
)

from ops.dictionaries.read import describe_all
from ops.dictionaries.scorer import DictionaryScorer
from ops.errors import InputError
from ops.model import direction
from ops.model.activations import ScoreOptions, Scorer
from ops.model.direction import is_decoder
from ops.model.load import read_facts
from ops.model.pooling import check_pool
from ops.outputs.token_head import load_token_head

SIZES: dict[str, Any] = {
    "vocab_size": 30522, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 20
}  # fmt: skip
GROUPED = SIZES | {"num_key_value_heads": 1, "head_dim": 8}
GEMMA = GROUPED | {"sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"]}


@pytest.mark.parametrize(
    ("config", "decoder"),
    [
        (GPT2Config(vocab_size=30522, n_embd=16, n_layer=2, n_head=2), True),
        (LlamaConfig(**GROUPED), True),
        (LlamaConfig(**GROUPED, is_causal=False), False),
        (MistralConfig(**GROUPED, sliding_window=4), True),
        (MixtralConfig(**GROUPED, num_local_experts=4), True),
        (Gemma3TextConfig(**GEMMA), True),
        (Gemma3TextConfig(**GEMMA, use_bidirectional_attention=True), False),
        (BertConfig(**SIZES), False),
        (BertConfig(**SIZES, is_decoder=True), True),
        (BertConfig(**SIZES, max_position_embeddings=5), False),
        (FNetConfig(**SIZES), False),
        (ModernBertConfig(**SIZES, pad_token_id=0), False),
        (XLNetConfig(vocab_size=30522, d_model=16, n_layer=2, n_head=2, d_inner=20), False),
    ],
    ids=lambda value: getattr(value, "model_type", str(value)),
)
def test_a_model_is_a_decoder_if_its_first_token_does_not_see_the_last(
    make_model: Callable[..., Path], config: Any, decoder: bool
) -> None:
    facts = read_facts(str(make_model(config)))
    assert is_decoder(facts) is decoder
    assert is_decoder(read_facts(f"random:{facts.location.path}")) is decoder


def test_all_that_depends_on_it_follows(make_model: Callable[..., Path]) -> None:
    """A Llama that reads both ways is an encoder for --pool cls, for directions, and for jobs.outputs."""
    both = read_facts(str(make_model(LlamaConfig(**GROUPED, is_causal=False))))
    check_pool("cls", "include", both, has_cls=True)
    with pytest.raises(InputError, match="has no head that scores tokens"):
        load_token_head(both, "cpu")
    one = read_facts(str(make_model(LlamaConfig(**GROUPED))))
    with pytest.raises(InputError, match=r"--pool cls: .* is a decoder"):
        check_pool("cls", "include", one, has_cls=True)
    for facts in (one, both):
        axes = describe_all(["1=rotated:0"], facts)
        scorer = DictionaryScorer(facts, ScoreOptions(special_tokens="exclude"), 0, axes)
        assert scorer.leaves_first is (facts is one)


def test_it_is_tried_once_and_only_where_it_matters(
    make_model: Callable[..., Path], small_bert: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts, loads, load = read_facts(str(make_model(small_bert, seed=7))), [], direction.load_model
    monkeypatch.setattr(direction, "load_model", lambda *given: loads.append(given) or load(*given))
    check_pool("mean", "include", facts, has_cls=True)
    Scorer(facts, ScoreOptions(special_tokens="exclude"))
    assert not loads
    assert [is_decoder(facts), is_decoder(facts), is_decoder(read_facts(facts.name))] == [False] * 3
    assert [given[1:] for given in loads] == [("cpu", "float32")]


class Moving(torch.nn.Module):
    """A model of one layer whose first token moves by some part of its length with the last token of a text."""

    def __init__(self, part: float, **settings: Any) -> None:
        super().__init__()
        self.part, self.config = part, SimpleNamespace(**settings)

    def forward(self, input_ids: torch.Tensor, **_: Any) -> Any:
        seen = input_ids[0, -2] % 2  # [SEP] is last
        states = torch.ones(*input_ids.shape, 4, dtype=torch.float64) * (1 + self.part * seen)
        return SimpleNamespace(hidden_states=(torch.rand_like(states), states))


QUANTISED = {"quantization_config": {"quant_method": "bitnet"}}


@pytest.mark.parametrize(
    ("part", "settings", "expected"),
    [
        (0, {}, True),
        (5e-7, {}, True),
        (3e-6, {}, None),
        (2e-5, {}, False),
        (float("nan"), {}, None),
        (0, QUANTISED, True),
        (5e-3, QUANTISED, None),
        (2e-2, QUANTISED, False),
    ],
)
def test_what_moves_too_little_for_one_and_too_much_for_the_other_leaks(
    monkeypatch: pytest.MonkeyPatch, part: float, settings: Any, expected: bool | None
) -> None:
    monkeypatch.setattr(direction, "load_model", lambda *_: Moving(part, **settings))
    facts, tried = read_facts("sample"), direction._try_direction.__wrapped__
    if expected is None:
        with pytest.raises(InputError, match=r"--model sample: leaks: .* give another model"):
            tried(facts)
    else:
        assert tried(facts) is expected


def test_the_texts_are_short_and_differ_in_their_last_ordinary_token() -> None:
    first, texts = direction.trials(read_facts("sample"))
    assert (first, len(texts)) == (1, 8)
    assert {text.shape[1] - 2 for text in texts} == {3, 4, 5, 6}
    for text in texts:
        assert len(text) == len({*text[:, -2].tolist()}) == 5
        assert (text[:, :-2] == text[0, :-2]).all()
        assert (text[:, [0, -1]] == torch.tensor([101, 102])).all()
        assert not {*text[:, 1:-1].flatten().tolist()} & {0, 100, 101, 102, 103}
