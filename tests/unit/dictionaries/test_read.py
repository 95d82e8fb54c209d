import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from ops.dictionaries.read import absolute, describe_all, parse
from ops.errors import InputError
from ops.model.load import ModelFacts
from tests.conftest import ROOT
from tests.unit.dictionaries.made import weights, write
from tests.unit.dictionaries.test_own_readers import cross_layer, qwen_scope
from tests.unit.small_models import LAYERS, WIDTH, facts

HOOK = "blocks.1.hook_resid_post"
LOADING, CENTRES = "model_from_pretrained_kwargs", "center_writing_weights"
BERT, GPT2 = facts("bert"), facts("gpt2")


def standard(folder: Path, hook: str = HOOK, width: int = WIDTH, **more: Any) -> str:
    return str(write(folder, "standard", weights("standard", width, 30), hook, **more))


def test_what_is_known_of_a_dictionary(tmp_path: Path) -> None:
    (found,) = describe_all([f"2={standard(tmp_path / 'a')}"], BERT)
    assert (found.kind, found.features, found.layer, found.point, found.target) == (
        "standard", 30, 2, (2, "residual"), (2, "residual"),
    )  # fmt: skip
    assert found.said()["path"] == str(tmp_path / "a")
    (other,) = describe_all([f"2={standard(tmp_path / 'b', apply_b_dec_to_input=False)}"], BERT)
    (same,) = describe_all([f"2={standard(tmp_path / 'c')}"], BERT)
    assert found.fingerprint == same.fingerprint != other.fingerprint


def test_values_that_are_null_in_its_metadata_are_absent(tmp_path: Path) -> None:
    own = standard(tmp_path, metadata={"model_name": None, LOADING: None, "hook_head_index": None})
    (found,) = describe_all([f"2={own}"], BERT)
    assert (found.model, found.centred) == ("", False)


def test_a_dictionary_of_random_weights_is_taken_with_these_weights_only(tmp_path: Path) -> None:
    def model(name: str, seed: int | None) -> ModelFacts:
        return facts("bert", name=name, seed=seed)

    first = f"2={standard(tmp_path / 'first', metadata={'model_name': 'random:m'})}"
    fourth = f"2={standard(tmp_path / 'fourth', metadata={'model_name': 'random:m', 'model_seed': 4})}"
    assert describe_all([first], model("random:m", 0))[0].model == "random:m"
    assert describe_all([fourth], model("random:m", 4))[0].features == 30
    for path, name, seed, said in (
        (first, "m", None, "random:m --model-seed 0, not on those of --model m$"),
        (first, "random:m", 4, "random:m --model-seed 0, not on those of --model random:m --model-seed 4"),
        (fourth, "random:m", 0, "random:m --model-seed 4, not on those of --model random:m --model-seed 0"),
        (first, "random:n", 0, "random:m --model-seed 0, not on those of --model random:n --model-seed 0"),
    ):
        with pytest.raises(InputError, match=rf"^--dictionary 2=.*: was trained on the random weights .*{said}"):
            describe_all([path], model(name, seed))


def test_a_trained_dictionary_is_not_taken_with_random_weights(tmp_path: Path) -> None:
    random = facts("bert", name="random:m", seed=0)
    with pytest.raises(InputError, match=r"^--dictionary 2=.*on another model's states.* random:m are random"):
        describe_all([f"2={standard(tmp_path / 'a')}"], random)
    np.save(tmp_path / "axes.npy", np.eye(WIDTH, dtype=np.float32))
    for path in ("rotated:7", str(tmp_path / "axes.npy")):
        assert describe_all([f"2={path}"], random) == describe_all([f"2={path}"], BERT)


def test_a_local_path_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    standard(tmp_path / "own")
    names = ["own", "./own/", str(tmp_path / "own"), "rotated:7", "org/sae"]
    assert [absolute(name) for name in names] == [str(tmp_path / "own")] * 3 + ["rotated:7", "org/sae"]


def test_an_older_flat_configuration_is_read(tmp_path: Path) -> None:
    own = weights("topk", WIDTH, 30)
    folder = write(tmp_path, "topk", own, HOOK)
    flat = {
        "d_in": WIDTH, "d_sae": 30, "activation_fn_str": "topk", "activation_fn_kwargs": {"k": 4},
        "hook_point": "blocks.1.hook_resid_pre", "hook_point_layer": 1, "normalize_activations": False,
    }  # fmt: skip
    (folder / "cfg.json").write_text(json.dumps(flat))
    (found,) = describe_all([f"1={folder}"], BERT)
    assert (found.kind, found.k, found.point, found.subtracts_bias) == ("topk", 4, (1, "residual"), True)


def change(key: str, value: Any) -> Callable[[Path], None]:
    def changed(folder: Path) -> None:
        cfg = json.loads((folder / "cfg.json").read_text())
        (folder / "cfg.json").write_text(json.dumps(cfg | {key: value}))

    return changed


def metadata(key: str, value: Any) -> Callable[[Path], None]:
    return change("metadata", {"model_name": "m", "hook_name": HOOK, key: value})


def cut(folder: Path) -> None:
    path = folder / "sae_weights.safetensors"
    path.write_bytes(path.read_bytes()[:-50])


def spoil(folder: Path) -> None:
    own = weights("standard", WIDTH, 30)
    own["b_enc"][3] = np.nan
    save_file(own, folder / "sae_weights.safetensors")


def lack(folder: Path) -> None:
    own = weights("standard", WIDTH, 30)
    del own["b_enc"]
    save_file(own, folder / "sae_weights.safetensors")


def sparsify(folder: Path) -> None:
    (folder / "sae_weights.safetensors").rename(folder / "sae.safetensors")


HARM: list[tuple[Callable[[Path], None], str]] = [
    (change("architecture", "temporal"), "its architecture is temporal, whose features are not computed"),
    (change("architecture", ["x"]), "its architecture is"),
    (change("d_sae", 10**12), "number of features is 1000000000000 in cfg.json"),
    (change("d_in", -3), "its width is -3 in cfg.json"),
    (change("d_in", "many"), 'its width is "many" in cfg.json; expected a number'),
    (change("d_in", str(WIDTH)), f'its width is "{WIDTH}" in cfg.json; expected a number'),
    (change("apply_b_dec_to_input", "no"), 'apply_b_dec_to_input is "no" in its configuration; expected true or'),
    (change("apply_b_dec_to_input", None), "apply_b_dec_to_input is null in its configuration; expected true or"),
    (change("rescale_acts_by_decoder_norm", 0), "rescale_acts_by_decoder_norm is 0 in its configuration; expected"),
    (change("metadata", "none"), 'metadata is "none" in its configuration; expected a table of names and values'),
    (metadata("model_name", ["m"]), 'model_name is ["m"] in its configuration; expected a text'),
    (metadata("model_seed", "1"), 'model_seed is "1" in its configuration; expected a whole number'),
    (metadata("model_seed", True), "model_seed is true in its configuration; expected a whole number"),
    (metadata(LOADING, [1]), f"{LOADING} is [1] in its configuration; expected a table of names and values"),
    (metadata(LOADING, {CENTRES: "no"}), f'{CENTRES} is "no" in its configuration; expected true or false'),
    (change("d_sae", 31), "W_enc has the shape [24, 30] in sae_weights.safetensors, and [24, 31] by cfg.json"),
    (change("normalize_activations", "expected_average_only_in"), "normalize_activations expected_average_only_in"),
    (change("activation_fn", "tanh-relu"), "its activation function tanh-relu is not computed"),
    (change("metadata", {"hook_name": "blocks.1.attn.hook_q"}), "reads blocks.1.attn.hook_q, which is not"),
    (change("metadata", {}), "cfg.json does not say which activations the dictionary reads (hook_name is missing)"),
    (change("metadata", {"hook_name": "blocks.2.hook_resid_post"}), "not layer 2; give it as 3=PATH"),
    (cut, "sae_weights.safetensors is damaged or cut off"),
    (spoil, "its weights are not all finite (bias holds a NaN"),
    (lack, "sae_weights.safetensors lacks b_enc"),
    (sparsify, "is a dictionary of sparsify, which the package sae-lens reads; install it: pip install"),
]


def test_what_is_wrong_with_a_folder_is_said_in_one_line(tmp_path: Path) -> None:
    for number, (harm, said) in enumerate(HARM):
        folder = standard(tmp_path / str(number))
        harm(Path(folder))
        with pytest.raises(InputError) as error:
            describe_all([f"2={folder}"], BERT)
        assert str(error.value).startswith(f"--dictionary 2={folder}: ")
        assert said in str(error.value)
        assert "\n" not in str(error.value)


def test_a_sae_lens_that_cannot_be_imported_is_named_with_its_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "packages" / "sae_lens"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import a_package_that_is_missing\n")
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    for name in [name for name in sys.modules if name.partition(".")[0] == "sae_lens"]:
        monkeypatch.delitem(sys.modules, name)
    folder = standard(tmp_path / "dictionary")
    sparsify(Path(folder))
    with pytest.raises(InputError, match=r"sae-lens.*cannot be imported \(No module named 'a_package_that_is_missing'"):
        describe_all([f"2={folder}"], BERT)


def test_an_old_sae_lens_is_named_with_its_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = standard(tmp_path / "dictionary")
    sparsify(Path(folder))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setattr("importlib.metadata.version", lambda name: "6.54.3")
    with pytest.raises(InputError, match=r"needs sae-lens 6\.54\.12 or later, and 6\.54\.3 is installed; pip install"):
        describe_all([f"2={folder}"], BERT)


READ = """
import json, sys
from ops.dictionaries.read import describe_all, load
from ops.errors import InputError
from tests.unit.small_models import facts
found = []
for path in sys.argv[1:]:
    try:
        (one,) = describe_all([path], facts("bert"))
        found.append([one.features, list(load(one)["encoder"].shape)])
    except InputError as error:
        found.append(str(error))
print(json.dumps(found))
"""


def read_by_name(variables: dict[str, str], *paths: str) -> list[Any]:
    environment = {**os.environ, **variables}
    done = subprocess.run(
        [sys.executable, "-c", READ, *paths], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return list(json.loads(done.stdout))


@pytest.mark.slow
def test_a_dictionary_of_the_hub_is_named_by_its_folder(hub: tuple[dict[str, str], Path, list[str]]) -> None:
    variables, root, asked = hub
    standard(root / "org" / "saes" / "blocks.1")
    standard(root / "org" / "one")
    np.save(root / "org" / "saes" / "probes.npy", np.ones((3, WIDTH), np.float32))
    (root / "org" / "saes" / "huge.bin").write_bytes(b"x")
    names = ("org/saes/blocks.1", "org/one", "org/saes/probes.npy", "org/saes/blocks.2", "org/none/a", "org", "../a/b")
    found = read_by_name(variables, *(f"2={name}" for name in names))
    assert found[:3] == [[30, [WIDTH, 30]], [30, [WIDTH, 30]], [3, [WIDTH, 3]]]
    assert "the hub's org/saes has no dictionary blocks.2" in found[3]
    assert "there is no such file or folder, and the Hugging Face hub has no org/none" in found[4]
    for said in found[5:]:
        assert said.endswith(": there is no such file or folder")
    assert not any("huge.bin" in path for path in asked), "more was downloaded than the dictionary"


@pytest.mark.slow
def test_a_file_of_the_hub_brings_what_it_needs(hub: tuple[dict[str, str], Path, list[str]]) -> None:
    variables, root, asked = hub
    qwen, _ = qwen_scope(root / "Qwen", 30)
    (root / "org" / "clt").mkdir(parents=True)
    cross_layer(root / "org" / "clt")
    (root / "org" / "clt" / "W_dec_1.safetensors").write_bytes(b"x")
    names = (f"2=Qwen/{qwen.parent.name}/{qwen.name}", "2=org/clt/W_enc_1.safetensors", "2=org/clt/W_enc_7.safetensors")
    found = read_by_name(variables, *names)
    assert found[:2] == [[30, [WIDTH, 30]], [40, [WIDTH, 40]]]
    assert "the hub's org/clt has no dictionary W_enc_7.safetensors" in found[2]
    assert not any("W_dec" in path for path in asked), "more was downloaded than the encoder"


def test_what_does_not_fit_the_model_is_refused(tmp_path: Path) -> None:
    wide, there = standard(tmp_path / "wide", width=WIDTH + 1), standard(tmp_path / "there")
    with pytest.raises(InputError, match="takes states of 25 values, and those of m have 24"):
        describe_all([f"2={wide}"], BERT)
    with pytest.raises(InputError, match="m has no layer 4; layers run from 0, the embeddings, to 3"):
        describe_all([f"{LAYERS + 1}=rotated:0"], BERT)
    own, more = weights("transcoder", WIDTH, 30, out=7), {"metadata": {"hook_name_out": "blocks.1.hook_mlp_out"}}
    transcoder = write(tmp_path / "transcoder", "transcoder", own, "blocks.1.mlp.hook_in", **more)
    with pytest.raises(InputError, match="writes states of 7 values, and those of m have 24"):
        describe_all([f"2={transcoder}"], BERT)
    with pytest.raises(InputError, match=r"~nobody/sae: there is no such file or folder$"):
        describe_all(["2=~nobody/sae"], BERT)
    kwargs = {"model_from_pretrained_kwargs": {"center_writing_weights": True}}
    centred = standard(tmp_path / "centred", metadata=kwargs)
    with pytest.raises(InputError, match=r"center_writing_weights, .* m is an encoder"):
        describe_all([f"2={centred}"], BERT)
    assert describe_all([f"2={centred}"], GPT2)[0].centred
    with pytest.raises(InputError, match=r"sparse features and rotated:1 has directions; a run can have only one kind"):
        describe_all([f"2={there}", "1=rotated:1"], BERT)


class Boom:
    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("raise SystemExit('a pickle was loaded')",)


def test_a_pickle_is_never_loaded(tmp_path: Path) -> None:
    for name in ("a.pt", "a.pth"):
        folder = tmp_path / name.partition(".")[2]
        folder.mkdir()
        (folder / name).write_bytes(pickle.dumps(Boom()))
        with pytest.raises(InputError, match="loading one can run code; save its tensors with safetensors"):
            describe_all([f"2={folder / name}"], BERT)
        with pytest.raises(InputError, match=f"{name} is not read, because loading it can run code"):
            describe_all([f"2={folder}"], BERT)


def test_directions_are_one_array_of_numbers(tmp_path: Path) -> None:
    good = np.ones((3, WIDTH), np.float64)
    np.save(tmp_path / "good.npy", good)
    save_file({"probe": good}, tmp_path / "good.safetensors")
    for name in ("good.npy", "good.safetensors"):
        (found,) = describe_all([f"0={tmp_path / name}"], BERT)
        assert (found.kind, found.features, found.sparse, found.target) == ("linear", 3, False, None)
    objects: np.ndarray = np.array([Boom(), None], object)
    np.save(tmp_path / "objects.npy", objects)
    np.save(tmp_path / "flat.npy", good[0])
    np.save(tmp_path / "bad.npy", np.full((2, WIDTH), np.inf))
    save_file({"a": good, "b": good}, tmp_path / "two.safetensors")
    (tmp_path / "text.npy").write_text("no array")
    for name, said in (
        ("objects.npy", "is not an array of numbers"), ("flat.npy", r"shape \[24\], expected"),
        ("text.npy", "is not an array of numbers"),
        ("bad.npy", "not all finite"), ("two.safetensors", "holds 2 arrays"), ("nothing.npy", "no such file or folder"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            describe_all([f"0={tmp_path / name}"], BERT)


HEADER = "{'descr': '<f4', 'fortran_order': False, 'shape': %s}"


@pytest.mark.parametrize(
    "header",
    [
        *(HEADER % shape for shape in ("(10000000000000, 10000000000000)", "(4611686018427387904, 24)", "(3, -24)")),
        *(HEADER % shape for shape in ("(9223372036854775807, 2)", f"({1 << 70}, 24)", "(1.5, 24)", "(10, 24)")),
        HEADER % "(1, 24)" + " " * 20_000,
        "{" * 9,
    ],
    ids=lambda header: header.strip()[-25:],
)
def test_a_header_that_its_file_cannot_have_is_one_line(tmp_path: Path, header: str) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(
        b"\x93NUMPY\x01\x00" + (len(header) + 1).to_bytes(2, "little") + f"{header}\n".encode() + bytes(96)
    )
    with pytest.raises(InputError) as error:
        describe_all([f"0={path}"], BERT)
    assert str(error.value) == (
        f"--dictionary 0={path}: is not an array of numbers, or its header does not fit its content; "
        "save it again with numpy.save"
    )


def test_numbers_beyond_float32_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "large.npy", np.full((2, WIDTH), 1e300))
    with pytest.raises(InputError, match=r"not all finite \(the array holds .* or a number beyond float32\)"):
        describe_all([f"0={tmp_path / 'large.npy'}"], BERT)


def test_a_layer_has_one_path_and_a_rotation_one_seed() -> None:
    for text in ("", "4", "=a", "four=a", "4=", "99999=a"):
        with pytest.raises(InputError, match="expected LAYER=PATH"):
            parse([text])
    with pytest.raises(InputError, match="layer 2 has two dictionaries"):
        parse(["2=a", "02=b"])
    for seed in ("", "x", "-1", "1.5", "99999999999"):
        with pytest.raises(InputError, match="expected rotated:SEED"):
            describe_all([f"1=rotated:{seed}"], BERT)
