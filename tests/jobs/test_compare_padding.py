"""Where padding changes what a model computes, `compare` reads each sentence as if it were alone; starts no Ray."""

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer, ConvBertConfig

from ops.compare.model_shift import TwoModels
from ops.model.activations import ScoreOptions
from ops.model.load import read_facts
from ops.topk.neurons import Neurons

SIZE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 20}


def test_distances_are_those_of_sentences_alone(make_model: object, texts: list[str]) -> None:
    config = ConvBertConfig(**SIZE, embedding_size=16, head_ratio=1, max_position_embeddings=40)
    models = [make_model(config, seed) for seed in (0, 1)]  # type: ignore[operator]
    tokenizer = AutoTokenizer.from_pretrained(models[0])
    some = texts[:12]
    lengths = [len(tokenizer(t, truncation=True, max_length=40)["input_ids"]) for t in some]
    assert len(set(lengths)) > 4
    facts, against = map(read_facts, map(str, models))
    two = TwoModels((facts, against), ScoreOptions(), 10_000, Neurons((16, 16)))
    assert two.equal_lengths
    _, (manhattan, squares) = two.distances(some, np.array(lengths))
    networks = [AutoModel.from_pretrained(folder).eval() for folder in models]
    for row, text in enumerate(some):
        with torch.inference_mode():
            one = tokenizer(text, return_tensors="pt", truncation=True, max_length=40)
            a, b = (network(**one, output_hidden_states=True).hidden_states[1:] for network in networks)
        moved = [(x[0].mean(0) - y[0].mean(0)).double().numpy() for x, y in zip(a, b, strict=True)]
        np.testing.assert_allclose(manhattan[row], [np.abs(d).sum() for d in moved], rtol=1e-4)
        assert squares[row] == pytest.approx([(d**2).sum() for d in moved], rel=1e-4)
