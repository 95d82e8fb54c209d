"""A classifier's training: the same weights for any split into runs, and what it learns."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForMaskedLM

from ops.errors import InputError
from ops.finetune.classifier import WEIGHTS, Classifier, load_head, new_classifier, save_classifier
from ops.finetune.training import ClassifierTraining, segments
from ops.model.load import ModelFacts, read_facts
from ops.model.tokenizer import Tokenizer

WORDS = (("the profit rose by ten percent", 0), ("a cat sat on its mat", 1), ("shares and profit fell", 0))
OPTIONS: dict[str, Any] = {"epochs": 2, "batch_size": 2, "learning_rate": 0.01, "seed": 3, "device": "cpu"}


@pytest.fixture(scope="module")
def facts(make_model: Callable[..., Path], small_bert: BertConfig) -> ModelFacts:
    return read_facts(str(make_model(small_bert)))


def training(facts: ModelFacts, copies: int = 3, **options: Any) -> ClassifierTraining:
    tokenizer = Tokenizer(facts)
    tokens = tokenizer.encode([text for text, _ in WORDS] * copies)
    examples = [(t, label) for t, (_, label) in zip(tokens, WORDS * copies, strict=True)]
    model = new_classifier(facts, tokenizer, 2, 0.5, 3)
    return ClassifierTraining(model, examples[:-2], examples[-2:], tokenizer.pad_id, **(OPTIONS | options))


def weights(model: Classifier) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def test_weights_that_the_checkpoint_lacks_follow_from_the_seed(
    make_model: Callable[..., Path], small_bert: BertConfig
) -> None:
    """A model saved for masked words has no pooler, which `AutoModel` draws."""
    folder = make_model(small_bert)
    BertForMaskedLM(small_bert).save_pretrained(folder)
    without = read_facts(str(folder))
    first, second = (weights(new_classifier(without, Tokenizer(without), 2, 0.5, 3)) for _ in range(2))
    assert any("pooler" in name for name in first)
    for name, tensor in second.items():
        assert torch.equal(tensor, first[name]), name


@pytest.mark.slow
def test_a_training_in_pieces_gives_the_same_weights_as_one_in_one_go(facts: ModelFacts, tmp_path: Path) -> None:
    whole = training(facts)
    losses, _ = whole.run(8, None, tmp_path / "whole")
    expected = weights(whole.model)
    start = weights(training(facts).model)
    assert any(not torch.equal(start[name], expected[name]) for name in start if "layer.0" in name)
    # Each part runs in a fresh process; an epoch has 4 steps.
    found, place = [], None
    for stop in (1, 3, 4, 6, 8):
        piece = training(facts)
        torch.rand(stop)
        some, place = piece.run(stop, place, tmp_path / f"to-{stop}")
        piece.scores()
        found += some
    assert found == losses
    assert len(losses) == 8
    for name, tensor in weights(piece.model).items():
        assert torch.equal(tensor, expected[name]), name


def test_a_training_that_diverges_ends_with_one_line(facts: ModelFacts, tmp_path: Path) -> None:
    found = training(facts, learning_rate=1e14)
    with pytest.raises(InputError, match=r"--learning-rate 1e\+14: .* is not finite, .*; give a lower one") as error:
        found.run(8, None, tmp_path)
    assert "\n" not in str(error.value)


def test_weights_and_scores_that_are_not_finite_end_the_training(facts: ModelFacts, tmp_path: Path) -> None:
    found = training(facts)
    # No loss depends on these, as BERT's pooler is not read.
    torch.nn.init.constant_(found.model.encoder.pooler.dense.bias, torch.nan)  # type: ignore[union-attr, arg-type]
    with pytest.raises(InputError, match=r"encoder\.pooler\.dense\.bias after step 1 is not finite"):
        found.run(1, None, tmp_path)
    torch.nn.init.constant_(found.model.linear.bias, torch.inf)
    with pytest.raises(InputError, match="a score of a test document is not finite"):
        found.scores()
    with pytest.raises(InputError, match="the loss of step 1 is not finite"):
        found.run(1, None, tmp_path)


def test_scores_are_those_of_the_linear_layer_on_the_first_token(facts: ModelFacts) -> None:
    found = training(facts)
    model = found.model.eval()
    one = found.collate(found.test[:1])
    with torch.no_grad():
        state = model.encoder(input_ids=one["input_ids"]).last_hidden_state[0, 0]
        expected = model.linear.weight @ state + model.linear.bias
    np.testing.assert_allclose(found.scores()[0], expected.numpy(), rtol=1e-5, atol=1e-6)


def test_without_cls_the_mean_of_the_real_tokens_is_read() -> None:
    states = torch.arange(12.0).reshape(1, 3, 4)

    class Encoder(torch.nn.Module):
        def forward(self, **_: torch.Tensor) -> SimpleNamespace:
            return SimpleNamespace(last_hidden_state=states)

    for uses_cls, expected in ((False, states[:, :2].mean(1)), (True, states[:, 0])):
        model = Classifier(Encoder(), 4, 2, 0.0, uses_cls)
        found = model(torch.zeros(1, 3, dtype=torch.long), torch.tensor([[1, 1, 0]]))["logits"]
        assert torch.equal(found, model.linear(expected))


def test_what_is_saved_is_a_model_with_the_same_tokenizer_and_its_classifier_beside_it(
    facts: ModelFacts, tmp_path: Path
) -> None:
    model = training(facts).model
    save_classifier(model, facts, ["money", "animals"], tmp_path)
    saved = read_facts(str(tmp_path))
    assert (saved.layers, saved.width, saved.position_limit) == (facts.layers, facts.width, facts.position_limit)
    assert Tokenizer(saved).fingerprint == Tokenizer(facts).fingerprint
    head = load_head(saved)
    assert head is not None
    assert head[1:] == (["money", "animals"], "cls")
    assert torch.equal(head[0].weight, model.linear.weight)
    assert load_head(facts) is None
    assert load_head(read_facts(f"random:{tmp_path}")) is None, "it was trained with other weights"
    torch.nn.init.constant_(model.linear.bias, torch.nan)
    save_classifier(model, facts, ["money", "animals"], tmp_path / "broken")
    with pytest.raises(InputError, match=r"its weights are not all finite \(bias holds a NaN"):
        load_head(read_facts(str(tmp_path / "broken")))
    other = new_classifier(facts, Tokenizer(facts), 3, 0.5, 0)
    save_classifier(other, facts, ["a", "b", "c"], tmp_path / "other")
    (tmp_path / WEIGHTS).write_bytes((tmp_path / "other" / WEIGHTS).read_bytes())
    with pytest.raises(InputError, match=r"its classifier\.safetensors cannot be read .*; save the model again"):
        load_head(saved)


def test_pieces_end_with_every_epoch() -> None:
    assert segments(documents=9, batch_size=2, epochs=2, steps=2) == [(2, 0), (4, 0), (5, 1), (7, 0), (9, 0), (10, 2)]
    assert segments(documents=4, batch_size=8, epochs=3, steps=200) == [(1, 1), (2, 2), (3, 3)]
