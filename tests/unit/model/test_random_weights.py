"""Random weights: the same for the same seed, in the place of trained ones, and the state of nothing else changed."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import BertConfig, GPT2Config, LlamaConfig, PretrainedConfig

from ops.errors import InputError
from ops.model import locate
from ops.model.direction import is_decoder
from ops.model.load import load_model, read_facts
from ops.model.names import Location, seed_of
from ops.model.tokenizer import Tokenizer
from tests.conftest import ROOT

SIZES = {"vocab_size": 30_522, "hidden_size": 12, "num_hidden_layers": 2, "intermediate_size": 20}
LLAMA = {**SIZES, "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 40}
CONFIGS: dict[str, PretrainedConfig] = {
    "bert": BertConfig(**SIZES, num_attention_heads=2, max_position_embeddings=40),
    "gpt2": GPT2Config(vocab_size=30_522, n_embd=12, n_layer=2, n_head=2, n_positions=40, bos_token_id=1),
    "llama": LlamaConfig(**LLAMA, tie_word_embeddings=True),
    "untied": LlamaConfig(**LLAMA, tie_word_embeddings=False),
}
SHOW_DIGESTS = """
import sys
import torch
from tests.unit.model.test_random_weights import digest, drawn
torch.manual_seed(7)
torch.randn(3)
for folder in sys.argv[1:]:
    print(digest(drawn(folder)), digest(drawn(folder, 5)))
"""


@pytest.fixture(scope="module")
def folders(make_model: Callable[..., Path]) -> dict[str, Path]:
    """Models drawn with seed 0 and saved, in place of trained ones."""
    return {name: make_model(config) for name, config in CONFIGS.items()}


def drawn(
    folder: Path | str, seed: int | None = None, dtype: str = "float32", predicts: bool = False
) -> torch.nn.Module:
    return load_model(read_facts(f"random:{folder}", seed), "cpu", dtype, predicts)


def tensors(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return the weights and all buffers, those too that no file holds."""
    return {name: value.detach() for name, value in [*model.named_parameters(), *model.named_buffers()]}


def digest(model: torch.nn.Module) -> str:
    whole = hashlib.sha256()
    for name, value in sorted(tensors(model).items()):
        whole.update(name.encode() + value.numpy().tobytes())
    return whole.hexdigest()


def same(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    first, second = tensors(one), tensors(other)
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.slow
def test_a_seed_gives_the_same_weights_in_every_process(folders: dict[str, Path]) -> None:
    program = [sys.executable, "-c", SHOW_DIGESTS, *map(str, folders.values())]
    found = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    torch.manual_seed(1)
    assert found == [digest(drawn(folder, seed)) for folder in folders.values() for seed in (0, 5)]
    assert len({*found}) == 2 * len(folders) - 2, "tied or not, the Llama itself is the same"


@pytest.mark.parametrize("name", CONFIGS)
def test_the_weights_are_as_the_architecture_draws_them(folders: dict[str, Path], name: str) -> None:
    saved = load_model(read_facts(str(folders[name])), "cpu", "float32")
    assert same(drawn(folders[name]), saved)
    other = drawn(folders[name], 1)
    assert not same(other, saved)
    assert dict(other.named_buffers()).keys() == dict(saved.named_buffers()).keys()
    assert all(torch.equal(value, dict(saved.named_buffers())[key]) for key, value in other.named_buffers())
    assert not other.training
    with torch.no_grad():
        assert bool(other(torch.arange(30).reshape(2, 15)).last_hidden_state.isfinite().all())


@pytest.mark.parametrize(("name", "dtype"), [("bert", "float32"), ("gpt2", "bfloat16"), ("llama", "float16")])
def test_the_global_random_state_and_the_types_stay(folders: dict[str, Path], name: str, dtype: str) -> None:
    state = torch.get_rng_state()
    model = drawn(folders[name], 3, dtype)
    assert torch.equal(torch.get_rng_state(), state)
    trained = load_model(read_facts(str(folders[name])), "cpu", dtype)
    assert {key: value.dtype for key, value in tensors(model).items()} == {
        key: value.dtype for key, value in tensors(trained).items()
    }
    cast = drawn(folders[name], 3).to(next(model.parameters()).dtype)
    assert all(torch.equal(value, cast.get_parameter(key)) for key, value in model.named_parameters())


@pytest.mark.parametrize("name", ["llama", "untied"])
def test_with_the_head_that_predicts_the_weights_are_the_same(folders: dict[str, Path], name: str) -> None:
    whole, bare = drawn(folders[name], 2, predicts=True), drawn(folders[name], 2)
    assert same(whole.base_model, bare)  # type: ignore[arg-type]
    embedded = whole.get_input_embeddings().weight  # type: ignore[operator]
    assert (whole.lm_head.weight is embedded) == (name != "untied")  # type: ignore[union-attr]
    assert same(whole, drawn(folders[name], 2, predicts=True))


def test_what_is_known_of_a_model_with_random_weights(folders: dict[str, Path]) -> None:
    folder = folders["bert"]
    trained, random, other = read_facts(str(folder)), read_facts(f"random:{folder}"), read_facts(f"random:{folder}", 7)
    assert (trained.seed, random.seed, other.seed) == (None, 0, 7)
    assert len({facts.fingerprint for facts in (trained, random, other)}) == 3
    assert read_facts(f"random:{folder}", 0) == random
    for key in ("location", "model_type", "layers", "width", "position_limit", "vocabulary"):
        assert getattr(random, key) == getattr(trained, key), key
    assert is_decoder(random) == is_decoder(trained)
    assert random.title == f"{folder.name}, random weights (seed 0)"
    assert other.title == f"{folder.name}, random weights (seed 7)"
    assert read_facts("random:sample").title == "all-MiniLM-L6-v2, random weights (seed 0)"
    assert Tokenizer(random).fingerprint == Tokenizer(trained).fingerprint


def test_the_fingerprint_names_all_that_draws_the_weights(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> str:
        return read_facts(f"random:{tmp_path}").fingerprint

    config = json.loads((folders["bert"] / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config))
    first = found()
    (tmp_path / "model.safetensors").write_bytes((folders["bert"] / "model.safetensors").read_bytes())
    assert found() == first, "the trained weights do not matter"
    monkeypatch.setattr("transformers.__version__", "0.0")
    second = found()
    monkeypatch.setattr("torch.__version__", "0.0+cpu")
    third = found()
    monkeypatch.setattr("torch.__version__", "0.0+cu130")
    assert found() == third
    (tmp_path / "config.json").write_text(json.dumps({**config, "initializer_range": 0.5}))
    assert len({first, second, third, found()}) == 4
    revisions = [Location("org/model", revision) for revision in ("0a1b", "2c3d")]
    own = [locate.random_fingerprint(revision, seed) for revision in revisions for seed in (0, 1)]
    assert len({*own}) == 4
    assert own[0].startswith("org/model@0a1b:")


def test_no_trained_weights_are_needed_and_none_are_changed(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = folders["gpt2"]
    before = load_file(folder / "model.safetensors")
    (tmp_path / "config.json").write_bytes((folder / "config.json").read_bytes())
    assert same(drawn(tmp_path, 4), drawn(folder, 4))
    assert all(torch.equal(value, before[name]) for name, value in load_file(folder / "model.safetensors").items())
    config = json.loads((folders["llama"] / "config.json").read_text())
    quantized = {"quant_method": "bitsandbytes", "load_in_8bit": True}
    (tmp_path / "config.json").write_text(json.dumps({**config, "quantization_config": quantized}))
    assert same(drawn(tmp_path), drawn(folders["llama"]))


def test_wrong_names_and_seeds_are_refused() -> None:
    for name, seed, said in (
        ("random:", None, "--model random:: names no model; give the one .*, such as random:sample"),
        ("random:random:sample", 1, "--model random:random:sample: has random: more than once"),
        ("sample", 3, "--model-seed 3: is the seed of random weights, and --model sample has trained ones"),
        ("sample", 0, "--model-seed 0: .* leave it out, or give --model random:sample"),
    ):
        with pytest.raises(InputError, match=said):
            seed_of(name, seed)
        with pytest.raises(InputError):
            read_facts(name, seed)
    for name in ("./no/such", "\0", "x" * 300):
        with pytest.raises(InputError, match="--model random:"):
            read_facts(f"random:{name}")


def test_a_configuration_of_too_many_layers_is_refused_before_they_are_built(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    config = json.loads((folders["bert"] / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 1_000_000}))
    with pytest.raises(InputError, match=r"says 1,000,000 layers; give a model of 1 to 1,000"):
        read_facts(f"random:{tmp_path}")
