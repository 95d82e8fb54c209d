"""Where padding changes what a model computes, `compare` reads each sentence as if it were alone; starts no Ray."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from transformers import AutoModel, AutoTokenizer, ConvBertConfig

from jobs.stage.compare_files import distances_file, text_set_file
from jobs.stage.files import write_partial
from jobs.steps.compare.shift import read_distances
from jobs.steps.compare.shift_workers import Distancer, ShiftArgs
from ops.model.activations import ScoreOptions
from ops.model.load import read_facts
from ops.storage.store import Store
from ops.topk.neurons import Neurons

SIZE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 20}


def test_distances_are_those_of_sentences_alone(make_model: object, texts: list[str], tmp_path: Path) -> None:
    config = ConvBertConfig(**SIZE, embedding_size=16, head_ratio=1, max_position_embeddings=40)
    models = [make_model(config, seed) for seed in (0, 1)]  # type: ignore[operator]
    tokenizer = AutoTokenizer.from_pretrained(models[0])
    some = texts[:12]
    lengths = [len(tokenizer(t, truncation=True, max_length=40)["input_ids"]) for t in some]
    assert len(set(lengths)) > 4
    store, (facts, against) = Store(str(tmp_path)), map(read_facts, map(str, models))
    given = pa.table({"text": some, "n_tokens": pa.array(lengths, pa.int32())})
    write_partial(store, text_set_file(0), given, "f")
    args = ShiftArgs(store, "f", facts, against, ScoreOptions(), 10_000, Neurons((16, 16)), {}, 50, 0)
    distancer = Distancer(args)
    assert distancer.lengths == "equal"
    distancer({"block": 0, "text_set": 0, "first": 0, "stop": len(some)}, None)
    manhattan, squares = read_distances(store, distances_file(0, "distances"))
    networks = [AutoModel.from_pretrained(folder).eval() for folder in models]
    for row, text in enumerate(some):
        with torch.inference_mode():
            one = tokenizer(text, return_tensors="pt", truncation=True, max_length=40)
            a, b = (network(**one, output_hidden_states=True).hidden_states[1:] for network in networks)
        moved = [(x[0].mean(0) - y[0].mean(0)).double().numpy() for x, y in zip(a, b, strict=True)]
        np.testing.assert_allclose(manhattan[row], [np.abs(d).sum() for d in moved], rtol=1e-4)
        assert squares[row] == pytest.approx([(d**2).sum() for d in moved], rel=1e-4)
