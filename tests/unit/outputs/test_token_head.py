"""Compare the linearised head with each architecture's head written by hand, and with the full model."""

from pathlib import Path

import pytest
import torch

from ops.errors import InputError
from ops.model.load import read_facts
from ops.model.tokenizer import Tokens
from ops.outputs.token_head import TokenHead
from tests.unit.outputs.heads import BY_HAND, CONFIGS, DECODERS, LAYERS, VOCABULARY, WIDTH, saved, stream

EVERY = torch.arange(VOCABULARY)


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_head_by_hand_in_the_model_and_by_finite_differences(kind: str, tmp_path: Path) -> None:
    model, facts = saved(kind, tmp_path)
    head, ids = TokenHead(facts), torch.tensor([[5, 9, 2, 7, 11]])
    torch.manual_seed(5)
    mean, directions = torch.randn(WIDTH), torch.randn(7, WIDTH)
    linear = head.linearise(mean, "stream", EVERY).logits(directions)
    for direction, own in zip(directions, linear, strict=True):
        _, expected = torch.func.jvp(lambda x: BY_HAND[kind](model, x), (mean,), (direction,))
        torch.testing.assert_close(own, expected, rtol=1e-4, atol=1e-4)

    with torch.inference_mode():
        expected = model(input_ids=ids).logits[0]
        torch.testing.assert_close(head.model(input_ids=ids).logits[0], expected)
        torch.testing.assert_close(head.logits(stream(head, ids), "stream"), expected, rtol=1e-4, atol=1e-4)
        last = head.body(input_ids=ids)[0]
        torch.testing.assert_close(head.logits(last[0], "output"), expected, rtol=1e-4, atol=1e-4)

    width = 12 if kind == "opt" else WIDTH
    mean, direction = torch.randn(width), torch.randn(width)
    found = head.linearise(mean, "output", EVERY).logits(direction[None])[0]
    head.model.double()
    step = 1e-5 * direction.double()
    with torch.inference_mode():
        ends = head.logits(torch.stack([mean.double() + step, mean.double() - step]), "output")
    torch.testing.assert_close(found, ((ends[0] - ends[1]) / 2e-5).float(), rtol=1e-3, atol=1e-3)


def test_of_some_tokens_it_gives_theirs(tmp_path: Path) -> None:
    _, facts = saved("bert", tmp_path)
    head, mean, directions = TokenHead(facts), torch.randn(WIDTH), torch.randn(4, WIDTH)
    some = torch.tensor([3, 8, 40])
    whole = head.linearise(mean, "stream", EVERY).logits(directions)
    torch.testing.assert_close(head.linearise(mean, "stream", some).logits(directions), whole[:, some])


@pytest.mark.parametrize("kind", ["gpt2", "bert"])
def test_sums_are_of_the_tokens_that_count(kind: str, tmp_path: Path) -> None:
    model, facts = saved(kind, tmp_path)
    batch = [Tokens([4, 5, 6, 7], [1, 0, 0, 1], False), Tokens([4, 9, 7], [1, 0, 1], False), Tokens([8], [0], False)]
    sums, count = TokenHead(facts).state_sums(batch, 1)
    rows = []
    for tokens in batch:
        with torch.inference_mode():
            states = model(torch.tensor([tokens.ids]), output_hidden_states=True).hidden_states[-1][0]
        places = [i for i, added in enumerate(tokens.added) if not added and not (kind in DECODERS and i == 0)]
        rows += [states[i] for i in places]
    assert count == len(rows)
    torch.testing.assert_close(sums["output"].float(), torch.stack(rows).sum(0), rtol=1e-4, atol=1e-4)
    if kind == "bert":
        torch.testing.assert_close(sums["stream"], sums["output"])
    else:
        assert not torch.allclose(sums["stream"], sums["output"]), "the final normalisation lies between them"


def test_a_model_without_a_head_is_told_what_has_one() -> None:
    with pytest.raises(InputError, match=r"--model sample: has no head that scores tokens.*gpt2.*masked-word"):
        TokenHead(read_facts("sample"))


def test_random_weights_of_a_decoder_have_a_head(tmp_path: Path) -> None:
    saved("gpt2", tmp_path)
    head = TokenHead(read_facts(f"random:{tmp_path}", 3))
    assert head.linearise(torch.randn(WIDTH), "stream", EVERY).logits(torch.eye(WIDTH)).shape == (WIDTH, VOCABULARY)
    assert head.layer_modules is not None
    assert len(head.layer_modules) == LAYERS


def test_a_head_that_is_no_product_of_matrices_is_refused(tmp_path: Path) -> None:
    _, facts = saved("llama", tmp_path)
    head = TokenHead(facts)
    # Each logit then depends on all that the unembedding returns.
    head.model.register_forward_hook(lambda m, a, out: setattr(out, "logits", out.logits.softmax(-1)))
    with pytest.raises(InputError, match="whose head cannot be taken apart"):
        head.linearise(torch.randn(WIDTH), "stream", EVERY)
