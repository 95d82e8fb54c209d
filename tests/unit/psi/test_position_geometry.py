import math

import numpy as np
import pytest
import torch

from ops.model.attention_modules import head_projections, position_embeddings
from ops.model.direction import is_decoder
from ops.psi.position_geometry import cosine, cosine_histogram, position_attention
from tests.unit.small_models import CONFIGS, HEADS, WIDTH, make

SIZE = WIDTH // HEADS


def test_cosines_of_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(23, 5)).astype(np.float32), rng.normal(size=(7, 5)).astype(np.float32)
    every = [cosine(x, y) for x in a for y in b]
    assert every[3] == pytest.approx(float(a[0] @ b[3] / np.linalg.norm(a[0]) / np.linalg.norm(b[3])), rel=1e-5)
    a[5] = 0
    monkeypatch.setattr("ops.psi.position_geometry.ROWS_PER_BLOCK", 4)
    counts = cosine_histogram(a, b, 10)
    del every[35:42]
    assert counts.tolist() == np.histogram(every, 10, (-1, 1))[0].tolist()
    assert math.isnan(cosine(a[5], b[0]))
    assert cosine_histogram(b, b, 4)[3] >= 7


@pytest.mark.parametrize("kind", CONFIGS)
@torch.inference_mode()
def test_attention_from_positions_is_the_model_s_own_without_words(kind: str) -> None:
    model, known = make(kind)
    found_table = position_embeddings(model)
    assert found_table is not None
    positions = found_table[0].weight[found_table[1] :]
    # The model itself, its words and segments set to zero, shows the same attention in its first layer.
    weights = dict(model.named_parameters())
    for name in ("wte.weight", "embeddings.word_embeddings.weight", "embeddings.token_type_embeddings.weight"):
        if name in weights:
            weights[name].zero_()
    model.set_attn_implementation("eager")  # type: ignore[operator]
    shown = model(input_ids=torch.full((1, 9), 5), output_attentions=True).attentions[0][0]
    found = position_attention(model, head_projections(model, known)[0], positions[:9], is_decoder(known))
    assert found.shape == (HEADS, 9, 9)
    np.testing.assert_allclose(found, shown.numpy(), atol=1e-5)
