"""Exports as the packages that they are for read them: `make interop`, which installs these."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ops.model.load import read_facts
from tests.unit.export.small_tables import LOSER, TEXTS, SmallTables
from tests.unit.export.test_delphi import made, written
from tests.unit.export.test_neuronpedia import SIGN, SOURCES
from tests.unit.export.test_neuronpedia import written as written_lines

pytestmark = [
    pytest.mark.interop,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("delphi", "neuronpedia")),
        reason="eai-delphi and neuronpedia are not installed",
    ),
]


@pytest.fixture
def latents(tables: SmallTables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("ops.export.delphi.UNITS_PER_FILE", 128)
    written(made(tables, 8), tmp_path)
    return tmp_path / "latents"


def opened(folder: Path, tables: SmallTables, context: int = 8, negatives: int = 1, **more: Any) -> Any:
    from delphi.config import ConstructorConfig, SamplerConfig
    from delphi.latents import LatentDataset
    from transformers import AutoTokenizer

    sampler = SamplerConfig(n_examples_train=2, n_examples_test=0, n_quantiles=1, train_type="top")
    constructor = ConstructorConfig(example_ctx_len=context, min_examples=1, n_non_activating=negatives)
    tokenizer = AutoTokenizer.from_pretrained(read_facts(str(tables.model)).path)
    return LatentDataset(folder, sampler, constructor, tokenizer=tokenizer, **more)


def examples(tables: SmallTables, layer: int, unit: int, pole: str) -> list[tuple[list[str], list[float]]]:
    """The rows of 8 tokens in which a unit is active, strongest first, as the table has them."""
    found = []
    for row in tables.rows:
        if (row["layer"], row["unit"], row["pole"]) == (layer, unit, pole):
            for at in range(0, len(row["tokens"]), 8):
                heights = [max(SIGN[pole] * a, 0.0) for a in row["activations"][at : at + 8]]
                if max(heights) > 1e-5:
                    found.append((row["tokens"][at : at + 8], heights))
    return sorted(found, key=lambda one: -max(one[1]))


def test_delphi_s_dataset_gives_the_winners_of_each_unit(latents: Path, tables: SmallTables) -> None:
    strings = tables.tokenizer.vocabulary()
    seen = set()
    for record in opened(latents, tables):
        layer = 1 if record.latent.module_name.startswith("layers.0") else 3
        pole = "bottom" if record.latent.module_name.endswith(".bottom") else "top"
        seen.add((layer, record.latent.latent_index, pole))
        wanted = examples(tables, layer, record.latent.latent_index, pole)
        assert len(record.examples) == len(wanted)
        for example, (tokens, heights) in zip(record.examples, wanted, strict=True):
            assert [strings[number] for number in example.tokens.tolist()][: len(tokens)] == tokens
            np.testing.assert_array_equal(
                example.activations.numpy()[: len(tokens)],
                np.float32([h if h > 1e-5 else 0 for h in heights]),
            )
            assert not example.activations[len(tokens) :].any()
    assert seen == {(row["layer"], row["unit"], row["pole"]) for row in tables.rows}


def test_delphi_s_dataset_can_draw_a_hard_negative_as_non_activating(tables: SmallTables, tmp_path: Path) -> None:
    """The one sentence that wins nowhere is in the cache only as a hard negative."""
    written(made(tables, 64, negatives=True), tmp_path)
    own = tables.tokenizer.encode([TEXTS[LOSER]])[0].ids
    drawn = active = 0
    for record in opened(tmp_path / "latents", tables, 64, 3):
        drawn += sum(example.tokens.tolist()[: len(own)] == own for example in record.not_active)
        active += sum(example.tokens.tolist()[: len(own)] == own for example in record.examples)
    assert drawn > 0
    assert active == 0


def test_neuronpedia_s_client_reads_the_rows(tables: SmallTables, tmp_path: Path) -> None:
    """The package has no import of files; these are its models of the rows that the database gives back."""
    from neuronpedia.np_activation import Activation
    from neuronpedia.np_explanation import Explanation

    found = written_lines(tables.neuronpedia(negatives=True), tmp_path)
    read = negatives = 0
    for source, *_ in SOURCES:
        for name, lines in found.items():
            for line in lines if name.startswith(f"{source}/") else []:
                row = json.loads(json.dumps(line)) | {"source": line.get("layer")}
                if "/activations/" in name:
                    # Its check forbids the -1 by which Neuronpedia's converter marks the strongest activations.
                    negatives += row["dataSource"] is not None
                    assert row.pop("binContains") == (-1 if row["dataSource"] is None else None)
                    row["binContains"] = None
                    activation = Activation.from_np_db_json(row)
                    assert (activation.source, len(activation.tokens)) == (source, len(activation.values))
                    read += 1
                elif "/explanations/" in name:
                    assert Explanation.from_np_db_json(row).text == line["description"]
    assert (read, negatives) == (len(tables.rows) + len(tables.negatives), len(tables.negatives))
