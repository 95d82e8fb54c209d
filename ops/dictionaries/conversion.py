"""Converts dictionaries of other programs into the format of SAELens; the package sae-lens reads most of them.

Some details differ from sae-lens 6.54.12:

- Numbers stay float32, while the readers of sae-lens for sparsify and Llama Scope cast to bfloat16.
- A dictionary of sparsify subtracts the decoder's bias from its input, as sparsify's own `encode` does. Its decoder is
  not transposed, and it reads the module after which its folder is named.
- The factor by which Llama Scope multiplies its input is folded into the weights.
- Qwen-Scope and cross-layer transcoders are read here (`ops.dictionaries.own_readers`).
"""

import importlib.util
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import torch

from ops.dictionaries.description import Asked
from ops.dictionaries.own_readers import Converted, is_cross_layer, is_qwen_scope, read_cross_layer, read_qwen_scope
from ops.dictionaries.sae_lens_list import Listed
from ops.dictionaries.tensor_files import (
    MOST_FEATURES,
    MOST_WIDTH,
    Shape,
    read_config,
    read_tensor,
    setting,
    tensor_shapes,
)
from ops.errors import InputError, one_line

OLDEST = "6.54.12"  # of sae-lens
INSTALL = "pip install '.[dictionaries]'"
# The names of Gemma Scope's dictionaries: the repository, followed by the layer and the width.
_GEMMA = re.compile(
    r"(gemma-scope-(?:2b|9b|27b)-(?:pt|it)-(?:res|mlp|att|transcoders))(?:/snapshots/[^/]+)?/((?:layer_\d+|embedding)/.+)"
)
_GEMMA_2 = re.compile(r"(gemma-scope-2-\w+-(?:pt|it))(?:/snapshots/[^/]+)?/(.*layer_\d+.*)")
_EXAMPLES = {
    "Gemma Scope": (_GEMMA, ".../gemma-scope-2b-pt-res/layer_20/width_16k/average_l0_71"),
    "Gemma Scope 2": (_GEMMA_2, ".../gemma-scope-2-1b-pt/resid_post/layer_13_width_16k_l0_medium"),
}
_FAILS = (
    ValueError, KeyError, TypeError, AttributeError, RuntimeError, OSError, IndexError, ZeroDivisionError, ImportError
)  # fmt: skip


class Program(NamedTuple):
    """A program whose dictionaries are converted.

    Attributes:
        name: the program's name.
        files: the files that identify its folder and contain the dictionary; empty if a file is given, not a folder.
        weights: the file with the tensors.
        read: the function that reads a dictionary without the package sae-lens; None if that package reads it.
        listed: the dictionary's names in the list of sae-lens; None if the dictionary is detected by its files.
        decodes: whether a decoder reconstructs states of one hook point; False for cross-layer transcoders.
    """

    name: str
    files: tuple[str, ...] = ()
    weights: str = ""
    read: Callable[[Asked, Path], Converted] | None = None
    listed: Listed | None = None
    decodes: bool = True


PROGRAMS = (
    Program("sparsify", ("cfg.json", "sae.safetensors"), "sae.safetensors"),
    Program("Gemma Scope", ("params.npz",), "params.npz"),
    Program("Gemma Scope 2", ("params.safetensors",), "params.safetensors"),
    Program("Llama Scope", ("hyperparams.json", "checkpoints/final.safetensors"), "checkpoints/final.safetensors"),
)
_QWEN_SCOPE = Program("Qwen-Scope", read=read_qwen_scope)
_GEMMA_2_CROSS_LAYER = Program("Gemma Scope 2", decodes=False)
_CROSS_LAYER = Program("a cross-layer transcoder", read=read_cross_layer)


def program_of(path: Path) -> Program | None:
    """Return the program to which a file or the files of a folder belong; None if they are of no known program."""
    if is_qwen_scope(path):
        return _QWEN_SCOPE
    if is_cross_layer(path):
        return _CROSS_LAYER
    if path.suffix == ".safetensors" and "/clt/" in path.as_posix() and _names("Gemma Scope 2", path) is not None:
        return _GEMMA_2_CROSS_LAYER
    return next((own for own in PROGRAMS if all((path / name).is_file() for name in own.files)), None)


def listed_program(listed: Listed) -> Program:
    """Return the program that stands for the dictionaries in the list of sae-lens."""
    return Program("sae-lens", listed=listed, decodes=listed.loader != "mntss_clt_layer_transcoder")


def convert(asked: Asked, path: Path, program: Program) -> Converted:
    """Return a dictionary of another program as SAELens would save it.

    Raises:
        InputError: sae-lens is not installed, cannot be imported, cannot read the dictionary, or would read this kind
            wrongly.
    """
    if program.read is not None:
        return program.read(asked, path)
    if importlib.util.find_spec("sae_lens") is None:
        raise asked.error(f"is a dictionary of {program.name}, which the package sae-lens reads; install it: {INSTALL}")
    _check_version(asked)
    if program.listed is None:
        _look(asked, path, program)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from sae_lens import SAE
        except Exception as error:
            raise asked.error(
                f"is a dictionary of {program.name}, which the package sae-lens reads; it is installed but cannot be "
                f"imported ({one_line(error, 200)}); install versions that fit together (sae-lens {OLDEST} or later): "
                f"{INSTALL}"
            ) from error
        try:
            if program.listed is not None:
                found, files = _from_list(asked, program.listed)
            else:
                found = SAE.load_from_disk(path, dtype="float32", converter=_CONVERTERS[program.name](asked))
                files = [path / name for name in program.files] or [path]
            if program.name == "Llama Scope":
                found.fold_activation_norm_scaling_factor(_input_factor(asked, path))
            cfg: dict[str, Any] = found.cfg.to_dict()
            tensors = {name: tensor.detach() for name, tensor in found.state_dict().items()}
            return Converted(cfg, tensors, files, program.decodes)
        except InputError:
            raise
        except _FAILS as error:
            raise asked.error(f"sae-lens cannot read it as one of {program.name} ({one_line(error, 200)})") from error


def _check_version(asked: Asked) -> None:
    """Refuse a sae-lens that is too old: it lacks readers, and breaks with newer versions of TransformerLens."""
    from importlib.metadata import PackageNotFoundError, version

    from packaging.version import Version

    try:
        found = version("sae-lens")
    except PackageNotFoundError:  # imported from a folder
        return
    if Version(found) < Version(OLDEST):
        raise asked.error(f"needs sae-lens {OLDEST} or later, and {found} is installed; {INSTALL}")


def _look(asked: Asked, folder: Path, program: Program) -> None:
    """Refuse a dictionary that is damaged, too large or would be read wrongly, before any of it is loaded."""
    _check_sizes(asked, folder / program.weights if program.weights else folder)
    if program.name == "sparsify":
        cfg = read_config(asked, folder / "cfg.json")
        for name in ("transcode", "skip_connection", "signed"):
            if setting(asked, cfg, name, False):
                raise asked.error(f"is a dictionary of sparsify with {name}, which is not read")
        if cfg.get("activation", "topk") != "topk":
            raise asked.error(f"its activation is {one_line(str(cfg['activation']), 40)}; of sparsify, topk is read")
    if program.name in _EXAMPLES and _names(program.name, folder) is None:
        raise asked.error(
            f"a folder of {program.name} says in its path what it was trained on; expected one like "
            f"{_EXAMPLES[program.name][1]}"
        )


def _check_sizes(asked: Asked, path: Path) -> None:
    shapes = _npz_shapes(asked, path) if path.suffix == ".npz" else tensor_shapes(asked, path)
    for name, shape in shapes.items():
        if len(shape) > 3 or any(size > max(MOST_FEATURES, MOST_WIDTH) for size in shape):
            raise asked.error(f"{name} in {path.name} has the shape {list(shape)}, which no dictionary has")


def _npz_shapes(asked: Asked, path: Path) -> dict[str, Shape]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name].shape for name in file.files}
    except (ValueError, OSError, EOFError, KeyError) as error:
        raise asked.error(f"{path.name} is damaged or cut off; copy it again") from error


def _names(program: str, folder: Path) -> tuple[str, str] | None:
    found = _EXAMPLES[program][0].search(folder.resolve().as_posix())
    return (found[1], found[2]) if found else None


Converter = Callable[..., tuple[dict[str, Any], dict[str, torch.Tensor]]]


def _sparsify(asked: Asked) -> Converter:
    def read(path: Path, device: str, cfg_overrides: dict[str, Any]) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        from sae_lens.loading.pretrained_sae_loaders import sparsify_disk_loader

        folder = Path(path).resolve()
        own = {"apply_b_dec_to_input": True, "hook_name": folder.name}
        cfg, tensors = sparsify_disk_loader(folder, device, cfg_overrides | own)
        weights = folder / "sae.safetensors"
        if "W_dec" in tensor_shapes(asked, weights):
            tensors["W_dec"] = read_tensor(asked, weights, "W_dec")
        return cfg, {name: tensor.contiguous() for name, tensor in tensors.items()}

    return read


def _gemma_scope(asked: Asked) -> Converter:
    def read(path: Path, device: str, cfg_overrides: dict[str, Any]) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        from sae_lens.loading import pretrained_sae_loaders as loaders

        names = _names("Gemma Scope", Path(path))
        assert names is not None
        transcodes = names[0].endswith("transcoders")
        own = loaders.gemma_2_transcoder_huggingface_loader if transcodes else loaders.gemma_2_sae_huggingface_loader
        with _files_of(partial(_in_folder, Path(path))):
            cfg, tensors, _ = own(*names, device=device, cfg_overrides=cfg_overrides)
        if transcodes:
            cfg["d_out"] = tensors["b_dec"].shape[0]
        sizes = dict(zip(("d_in", "d_sae"), tensors["W_enc"].shape, strict=True))
        return cfg | sizes, tensors

    return read


def _gemma_scope_2(asked: Asked) -> Converter:
    def read(path: Path, device: str, cfg_overrides: dict[str, Any]) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        from sae_lens.loading.pretrained_sae_loaders import gemma_3_sae_huggingface_loader

        names = _names("Gemma Scope 2", Path(path))
        assert names is not None
        repository, name = names[0], names[1].removesuffix(".safetensors")
        folder = Path(path) if Path(path).is_dir() else Path(path).parent
        with _files_of(partial(_in_folder, folder)):
            cfg, tensors, _ = gemma_3_sae_huggingface_loader(
                repository, name, device=device, cfg_overrides=cfg_overrides
            )
        return cfg, tensors

    return read


def _llama_scope(asked: Asked) -> Converter:
    def read(path: Path, device: str, cfg_overrides: dict[str, Any]) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        from sae_lens.loading.pretrained_sae_loaders import llama_scope_sae_huggingface_loader

        with _files_of(partial(_in_folder, Path(path))):
            cfg, tensors, _ = llama_scope_sae_huggingface_loader("", ".", device=device, cfg_overrides=cfg_overrides)
        return cfg, {name: tensor.contiguous() for name, tensor in tensors.items()}

    return read


_CONVERTERS = {
    "sparsify": _sparsify,
    "Gemma Scope": _gemma_scope,
    "Gemma Scope 2": _gemma_scope_2,
    "Llama Scope": _llama_scope,
}


def _from_list(asked: Asked, listed: Listed) -> tuple[Any, list[Path]]:
    """Return a dictionary that sae-lens lists, as its own loader reads it, and the files that were read."""
    import huggingface_hub
    from sae_lens import SAE

    files: list[Path] = []

    def find(repository: str, name: str) -> Path:
        root = listed.root
        path = root / name if root is not None else Path(huggingface_hub.hf_hub_download(repository, name))
        if path.is_file():
            files.append(path)
        return path

    with _files_of(find):
        found = SAE.from_pretrained(listed.release, listed.identifier, device="cpu", dtype="float32")
    return found, sorted(set(files))


def _in_folder(folder: Path, repository: str, name: str) -> Path:
    """Return the file of a local folder that stands for the file of this name in a repository."""
    within = "checkpoints" if Path(name).parent.name == "checkpoints" else ""
    return folder / within / Path(name).name


@contextmanager
def _files_of(find: Callable[[str, str], Path]) -> Iterator[None]:
    """Make the loaders of sae-lens read the files that `find(repository, name)` returns, and never run a pickle."""
    from huggingface_hub.errors import LocalEntryNotFoundError

    loaders, load = "sae_lens.loading.pretrained_sae_loaders", torch.load

    def local(repo_id: str, filename: str, subfolder: str = "", **_: object) -> str:
        path = find(repo_id, f"{subfolder}/{filename}" if subfolder else filename)
        if not path.is_file():
            raise LocalEntryNotFoundError(f"{path.name} is missing")
        return str(path)

    def shapes(repo_id: str, filename: str) -> dict[str, list[int]]:
        asked = Asked(0, filename)
        return {name: list(shape) for name, shape in tensor_shapes(asked, Path(local(repo_id, filename))).items()}

    with ExitStack() as stack:
        stack.enter_context(patch(f"{loaders}.hf_hub_download", local))
        stack.enter_context(patch(f"{loaders}.get_safetensors_tensor_shapes", shapes))
        stack.enter_context(patch("torch.load", lambda file, **more: load(file, **(more | {"weights_only": True}))))
        yield


def _input_factor(asked: Asked, folder: Path) -> float:
    """Return Llama Scope's factor for states: the square root of the width divided by the mean norm in training."""
    said = read_config(asked, folder / "hyperparams.json")
    return float(said["d_model"] ** 0.5 / said["dataset_average_activation_norm"]["in"])
