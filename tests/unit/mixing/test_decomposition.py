import pytest
import torch
from torch import nn
from transformers import AlbertConfig, AutoModel

from ops.errors import InputError
from ops.mixing.decomposition import LAYER_STAGES, NORMS, MixingReader, Parts, quantities
from tests.unit.mixing.direct_mixing import DirectMixing
from tests.unit.small_models import CONFIGS, HEADS, LAYERS, WIDTH, make

SIZE = WIDTH // HEADS
IDS = torch.tensor([[5, 6, 7, 8, 9, 9, 4], [9, 10, 11, 3, 1, 1, 1], [12, 1, 1, 1, 1, 1, 1]])
REAL = torch.tensor([[1] * 7, [1, 1, 1, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0]])
INPUTS = {"input_ids": IDS, "attention_mask": REAL}


@pytest.mark.parametrize("kind", CONFIGS)
@torch.inference_mode()
def test_parts_sum_to_the_whole_equal_the_direct_ones_and_leave_the_model_as_it_was(
    kind: str,
) -> None:
    model, _ = make(kind)
    expected = model(**INPUTS).last_hidden_state
    reader = MixingReader(model, kind, LAYERS)
    measured = reader.read(INPUTS, Parts.measure)
    torch.testing.assert_close(model(**INPUTS).last_hidden_state[REAL.bool()], expected[REAL.bool()])
    if kind == "gpt2":
        return
    for ours, theirs in zip(measured, DirectMixing(make(kind)[0], kind, LAYERS).read(INPUTS), strict=True):
        assert ours.shape == (3, 7, 7)
        torch.testing.assert_close(ours[REAL.bool()], theirs[REAL.bool()], rtol=1e-4, atol=1e-5)
    for point, parts in zip(reader.points, reader.read(INPUTS, lambda parts: parts), strict=True):
        whole = parts.mixing + parts.preserving + parts.residual + point.projection.bias
        torch.testing.assert_close(whole[REAL.bool()], parts.whole[REAL.bool()], rtol=0, atol=1e-5)


@torch.inference_mode()
def test_bert_pair_by_pair_from_its_own_weights() -> None:
    model, _ = make("bert")
    states = model(**INPUTS, output_hidden_states=True).hidden_states
    found = MixingReader(model, "bert", LAYERS).read(INPUTS, Parts.measure)
    for layer, x, ours in zip(model.encoder.layer, states[:-1], found, strict=True):
        own, out = layer.attention.self, layer.attention.output
        for sentence, tokens in enumerate(REAL.sum(1).tolist()):
            y = x[sentence, :tokens].double()
            q, k, v = (y @ m.weight.double().T + m.bias.double() for m in (own.query, own.key, own.value))
            f = torch.zeros(tokens, tokens, WIDTH, dtype=torch.double)
            for head in (slice(i, i + SIZE) for i in range(0, WIDTH, SIZE)):
                alpha = (q[:, head] @ k[:, head].T / SIZE**0.5).softmax(-1)
                for j in range(tokens):
                    for i in range(tokens):
                        f[j, i] += alpha[j, i] * (v[i, head] @ out.dense.weight.double().T[head])
            for j in range(tokens):
                mixing = f[j].sum(0) - f[j, j]
                whole = f[j].sum(0) + out.dense.bias.double() + y[j]
                gain = out.LayerNorm.weight.double() / (whole.var(correction=0) + out.LayerNorm.eps).sqrt()
                kept = f[j, j] + y[j]
                stages = [(mixing, f[j, j]), (mixing, kept)]
                stages.append(((mixing - mixing.mean()) * gain, (kept - kept.mean()) * gain))
                ratios = [a.norm() / (a.norm() + b.norm()) for a, b in stages]
                norms = [mixing.norm(), f[j, j].norm(), y[j].norm(), ((y[j] - y[j].mean()) * gain).norm()]
                expected = torch.stack(ratios + norms).float()
                torch.testing.assert_close(ours[sentence, j], expected, rtol=1e-4, atol=1e-6)


@torch.inference_mode()
def test_a_decoder_has_the_stages_before_the_normalisation() -> None:
    model, _ = make("gpt2")
    states = model(**INPUTS, output_hidden_states=True).hidden_states
    found = MixingReader(model, "gpt2", LAYERS).read(INPUTS, Parts.measure)
    assert quantities(True) == (*LAYER_STAGES, *NORMS)
    assert quantities(False) == ("attn", "attn_res", "attn_mixing", "attn_preserving", "residual")
    seen = torch.ones(7, 7).tril().bool() & REAL[:, None, None].bool()
    for layer, x, ours in zip(model.h, states[:-1], found, strict=True):
        norm = nn.functional.layer_norm(x, (WIDTH,), layer.ln_1.weight, layer.ln_1.bias)
        parts = (norm @ layer.attn.c_attn.weight + layer.attn.c_attn.bias).split(WIDTH, 2)
        q, k, v = (part.view(3, 7, HEADS, SIZE).transpose(1, 2) for part in parts)
        alpha = (q @ k.mT / SIZE**0.5).masked_fill(~seen, -torch.inf).softmax(-1)
        matrix = layer.attn.c_proj.weight.view(HEADS, SIZE, WIDTH)
        pairs = torch.einsum("bhqk,bhkv,hvd->bqkd", alpha, v, matrix)
        own = torch.stack([pairs[:, j, j] for j in range(7)], 1)
        mixing = pairs.sum(2) - own
        sizes = [v.norm(dim=-1) for v in (mixing, own, own + x, x)]
        expected = [sizes[0] / (sizes[0] + sizes[1]), sizes[0] / (sizes[0] + sizes[2]), sizes[0], sizes[1], sizes[3]]
        torch.testing.assert_close(ours[REAL.bool()], torch.stack(expected, -1)[REAL.bool()], rtol=1e-4, atol=1e-5)
    # The first token of a decoder attends only to itself.
    assert float(found[0][:, 0, 0].max()) < 1e-5


def test_no_hook_is_left_even_after_a_failure() -> None:
    model, _ = make("bert")
    reader = MixingReader(model, "bert", LAYERS)
    reader.read(INPUTS, Parts.measure)
    with pytest.raises(ZeroDivisionError):
        reader.read(INPUTS, lambda parts: parts.mixing / (1 // 0))
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in model.modules())


def test_other_architectures_are_refused_by_name() -> None:
    model = AutoModel.from_config(
        AlbertConfig(vocab_size=50, hidden_size=16, num_attention_heads=2, num_hidden_layers=1)
    )
    with pytest.raises(
        InputError, match=r"is an albert, whose attention modules are unknown; give one of bert, .*gpt2"
    ):
        MixingReader(model, "albert", LAYERS)


def test_where_attention_adds_nothing_nothing_is_mixed_in() -> None:
    none, some = torch.zeros(1, 2, 3), torch.ones(1, 2, 3)
    found = Parts(none, none, some, None, None).measure()
    assert found[..., :2].eq(0).all()
    # A normalisation of one unit leaves zeros of everything.
    one = torch.ones(1, 2, 1)
    found = Parts(one, one, one, nn.LayerNorm(1), 3 * one).measure()
    assert found[..., :3].tolist() == [[[0.5, pytest.approx(1 / 3), 0.0]] * 2]
    lost = torch.full((1, 2, 3), torch.nan)
    assert Parts(none, lost, some, None, None).measure()[..., 0].isnan().all()
