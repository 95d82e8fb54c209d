import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    BertConfig,
    GPT2Config,
    OPTConfig,
    RobertaConfig,
    ViTConfig,
    XLNetConfig,
)

from ops.errors import InputError
from ops.model.heads import MASKED_WORD, load_head
from ops.model.load import load_model, position_limit, read_facts
from ops.model.locate import fingerprint
from ops.model.names import Location
from ops.model.weights import not_finite
from tests.unit.small_models import save_tokenizer

TINY = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 30}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    AutoModel.from_config(BertConfig(**TINY)).save_pretrained(tmp_path / "tiny")
    return tmp_path / "tiny"


def test_a_directory_is_loaded_as_it_is(folder: Path) -> None:
    facts = read_facts(str(folder))
    assert (facts.layers, facts.width, facts.position_limit) == (2, 8, 512)
    model = load_model(facts, "cpu", "float32")
    assert not model.training
    saved = load_file(folder / "model.safetensors")
    assert torch.equal(
        model.state_dict()["embeddings.word_embeddings.weight"], saved["embeddings.word_embeddings.weight"]
    )
    assert next(load_model(facts, "cpu", "bfloat16").parameters()).dtype == torch.bfloat16


def test_the_fingerprint_is_of_the_contents(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = read_facts(str(folder))
    with monkeypatch.context() as patch:
        # Weights are read once.
        patch.setattr("ops.model.locate.hashlib.file_digest", None)
        assert read_facts(str(folder)).fingerprint == first.fingerprint
    folder.rename(tmp_path / "moved")
    moved = tmp_path / "moved"
    assert read_facts(str(moved)).fingerprint == first.fingerprint
    (moved / "README.md").write_text("hello")
    assert read_facts(str(moved)).fingerprint == first.fingerprint
    weights = load_file(moved / "model.safetensors")
    weights["embeddings.word_embeddings.weight"][0, 0] += 1
    save_file(weights, moved / "model.safetensors", {"format": "pt"})
    other = read_facts(str(moved)).fingerprint
    assert other != first.fingerprint
    config = AutoConfig.from_pretrained(moved)
    config.layer_norm_eps = 1e-3
    config.save_pretrained(moved)
    assert read_facts(str(moved)).fingerprint not in (other, first.fingerprint)


@pytest.mark.parametrize("name", ["~nobody/model", "~model"])
def test_a_name_that_begins_with_a_tilde_is_no_user_s_alone(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    with pytest.raises(InputError, match=f"^--model {name}: there is no such directory"):
        read_facts(name)
    folder.rename("~model")
    assert read_facts("~model").title == "~model"


def test_the_fingerprint_is_of_the_weights_that_are_loaded(folder: Path) -> None:
    def found() -> str:
        return read_facts(str(folder)).fingerprint

    def save(scale: float) -> None:
        torch.save({name: scale * own for name, own in weights.items()}, folder / "pytorch_model.bin")

    own, weights = found(), load_file(folder / "model.safetensors")
    save(1)
    save_file({"x": torch.zeros(1)}, folder / "adapter.safetensors")
    assert found() == own, "files that are not loaded do not count"
    (folder / "model.safetensors").unlink()
    before = found()
    torch.save({}, folder / "training_args.bin")
    assert found() == before != own
    save(2)
    assert found() != before
    (folder / "pytorch_model.bin").rename(folder / "part-1.bin")
    index = folder / "pytorch_model.bin.index.json"
    index.write_text(json.dumps({"weight_map": dict.fromkeys(weights, "part-1.bin")}))
    before = found()
    torch.save(weights, folder / "part-1.bin")
    assert found() != before
    index.write_text("{")
    with pytest.raises(InputError, match="cannot be loaded"):
        found()


def test_figures_call_a_model_by_its_hub_id_or_by_its_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_facts("sample").title == "all-MiniLM-L6-v2"
    tuned = folder.parent / "news" / "finetune" / "model"
    shutil.copytree(folder, tuned)
    monkeypatch.chdir(folder.parent.parent)
    # The third looks like a hub id.
    titles = {str(folder): "tiny", f"{folder}/": "tiny", f"{folder.parent.name}/tiny": "tiny"}
    titles |= {str(tuned): "news/finetune/model", f"{folder.parent.name}/news/finetune/model": "news/finetune/model"}
    for name, title in titles.items():
        facts = read_facts(name)
        assert facts.title == title, name
    monkeypatch.chdir(tuned)
    assert read_facts(".").title == "news/finetune/model"
    monkeypatch.chdir(folder)
    assert (read_facts(".").title, read_facts("../tiny").title) == ("tiny", "tiny")
    there = Location("org/model", "0a1b2c")
    hub = replace(facts, name="org/model", location=there, fingerprint=fingerprint(there))
    assert hub.title == "org/model"


@pytest.mark.parametrize(
    ("config", "limit"),
    [
        (BertConfig(**TINY, max_position_embeddings=512), 512),
        (RobertaConfig(**TINY, max_position_embeddings=512), 510),
        (RobertaConfig(**TINY, max_position_embeddings=514), 512),
        (GPT2Config(n_embd=8, n_layer=1, n_head=1, n_positions=64, vocab_size=30), 64),
        (OPTConfig(**TINY, ffn_dim=8, word_embed_proj_dim=8, max_position_embeddings=64), 64),
        (XLNetConfig(d_model=8, n_layer=1, n_head=1, d_inner=8, vocab_size=30), 4096),
    ],
    ids=lambda value: getattr(value, "model_type", str(value)),
)
@torch.inference_mode()
def test_the_limit_of_positions_is_the_longest_that_runs(config: object, limit: int) -> None:
    model = AutoModel.from_config(config).eval()
    assert position_limit(config, model) == limit
    if limit < 4096:
        ids = torch.full((1, limit + 1), 5)
        model(input_ids=ids[:, :limit])
        with pytest.raises((IndexError, RuntimeError)):
            model(input_ids=ids)


def test_a_model_without_layers_or_of_pictures_is_refused(tmp_path: Path) -> None:
    AutoModel.from_config(BertConfig(**{**TINY, "num_hidden_layers": 0})).save_pretrained(tmp_path / "none")
    with pytest.raises(InputError, match=r"--model .*: its configuration says 0 layers"):
        read_facts(str(tmp_path / "none"))
    pictures = ViTConfig(
        hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8, image_size=8, patch_size=4
    )
    AutoModel.from_config(pictures).save_pretrained(tmp_path / "pictures")
    with pytest.raises(InputError, match=r"--model .*: takes no text \(pixel_values\); give a language model"):
        read_facts(str(tmp_path / "pictures"))


def test_a_missing_directory_is_named() -> None:
    for name in ("/no/such/place", "./no-such-place", "a/b/c", "not a name!"):
        with pytest.raises(InputError, match=f"--model {name}: .*--model sample"):
            read_facts(name)
    with pytest.raises(InputError, match=r"--model x+: file name too long"):
        read_facts("x" * 300)


def test_a_config_that_says_nothing_is_refused(folder: Path) -> None:
    for text in ("{", "{}", '{"model_type": "no_such_type"}', "[1]"):
        (folder / "config.json").write_text(text)
        with pytest.raises(InputError, match=f"--model {folder}: cannot be loaded"):
            read_facts(str(folder))
    (folder / "config.json").unlink()
    with pytest.raises(InputError, match=rf"--model {folder}: the directory holds no config\.json"):
        read_facts(str(folder))


def test_weights_that_do_not_fit_are_refused(folder: Path) -> None:
    file, name = folder / "model.safetensors", "encoder.layer.1.output.dense.weight"
    weights = load_file(file)
    # The pooler is not read.
    read = {key: tensor for key, tensor in weights.items() if not key.startswith("pooler.")}
    save_file(read, file, {"format": "pt"})
    load_model(read_facts(str(folder)), "cpu", "float32")
    for wrong in ({k: t for k, t in read.items() if k != name}, {**read, name: torch.zeros(3, 3)}):
        save_file(wrong, file, {"format": "pt"})
        with pytest.raises(InputError, match=f"--model {folder}: "):
            load_model(read_facts(str(folder)), "cpu", "float32")
    file.write_bytes(b"garbage" * 100)
    with pytest.raises(InputError, match=f"--model {folder}: cannot be loaded"):
        load_model(read_facts(str(folder)), "cpu", "float32")
    file.unlink()
    with pytest.raises(InputError, match=rf"--model {folder}: the directory holds no weights"):
        read_facts(str(folder))


def test_weights_that_are_not_finite_are_refused(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    message = rf"--model {folder}: .*not all finite \(encoder\.layer\.1\.output\.dense\.weight holds a NaN"
    for value, dtype in ((torch.nan, "float32"), (torch.inf, "bfloat16"), (-torch.inf, "float32")):
        weights["encoder.layer.1.output.dense.weight"][3, 5] = value
        save_file(weights, folder / "model.safetensors", {"format": "pt"})
        with pytest.raises(InputError, match=message):
            load_model(read_facts(str(folder)), "cpu", dtype)


def test_a_head_whose_weights_are_not_finite_is_refused(tmp_path: Path) -> None:
    model = AutoModelForMaskedLM.from_config(BertConfig(**TINY))
    torch.nn.init.constant_(model.cls.predictions.transform.dense.bias, torch.nan)
    model.save_pretrained(tmp_path)
    save_tokenizer(tmp_path, TINY["vocab_size"])
    facts = read_facts(str(tmp_path))
    load_model(facts, "cpu", "float32")
    with pytest.raises(InputError, match=r"not all finite \(cls\.predictions\.transform\.dense\.bias"):
        load_head(facts, MASKED_WORD, "cpu", "float32")


def test_finite_weights_whose_sum_overflows_are_taken() -> None:
    layer = torch.nn.Linear(4, 4)
    torch.nn.init.constant_(layer.weight, 3e38)
    assert not_finite(layer) is None
    assert not_finite(layer.half()) == "weight"
    torch.nn.init.constant_(layer.weight, 6e4)
    assert not_finite(layer) is None


@pytest.mark.parametrize("kind", ["foreign", "bert"])
def test_code_that_comes_with_a_model_is_never_run_and_nobody_is_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A model of its own kind is refused; one that transformers knows is loaded by transformers."""
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": kind, "auto_map": {"AutoConfig": "own.Own", "AutoModel": "own.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "own.py").write_text(f"open({str(folder / 'ran')!r}, 'w').close()\nclass Own: pass\nclass Model: pass\n")

    questions: list[object] = []
    monkeypatch.setattr("builtins.input", lambda *asked: questions.append(asked) or "y")
    if kind == "bert":
        assert load_model(read_facts(str(folder)), "cpu", "float32").config.model_type == "bert"
    else:
        with pytest.raises(InputError, match=rf"--model {folder}: .*needs code of its own, which is never run"):
            read_facts(str(folder))
    assert not questions
    assert not (folder / "ran").exists()
