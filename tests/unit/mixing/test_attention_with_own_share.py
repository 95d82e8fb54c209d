import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import BertConfig, BertModel

from ops.errors import InputError
from ops.mixing.decomposition import ATTENTION, MixingReader, attend


@pytest.mark.parametrize("scaling", [None, 0.3])
def test_the_context_is_that_of_sdpa_and_the_own_part_that_of_the_diagonal(scaling: float | None) -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 3, 5, 4) for _ in range(3))
    mask = torch.zeros(2, 1, 5, 5)
    mask[1, ..., 3:] = torch.finfo(torch.float32).min
    context, own = attend(torch.nn.Identity(), query, key, value, mask, scaling=scaling, dropout=0.0)
    expected = scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scaling)
    torch.testing.assert_close(context, expected.transpose(1, 2))
    for j in range(5):
        alone = torch.zeros_like(value)
        alone[:, :, j] = value[:, :, j]
        share = scaled_dot_product_attention(query, key, alone, attn_mask=mask, scale=scaling)
        torch.testing.assert_close(own[:, j], share[:, :, j])


def test_a_model_attends_by_it_afterwards() -> None:
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    model = BertModel(BertConfig(**sizes, vocab_size=9)).eval()
    MixingReader(model, "bert", 1)
    assert model.config._attn_implementation == ATTENTION
    model.set_attn_implementation = lambda name: None
    model.config._attn_implementation = "eager"
    with pytest.raises(InputError, match="attention of a bert cannot be replaced"):
        MixingReader(model, "bert", 1)
