"""Converts dictionaries of other programs, whose files the package sae-lens reads, into the format of SAELens.

Some details differ from sae-lens 6.54:

- Numbers stay float32, while the readers of sae-lens for sparsify and Llama Scope cast to bfloat16.
- A dictionary of sparsify subtracts the decoder's bias from its input, as sparsify's own `encode` does. Its decoder is
  not transposed, and it reads the module after which its folder is named.
- The factor by which Llama Scope multiplies its input is folded into the weights.
"""

import importlib.util
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import torch

from ops.dictionaries.description import Asked
from ops.dictionaries.tensor_files import (
    MOST_FEATURES,
    MOST_WIDTH,
    Shape,
    read_config,
    read_tensor,
    setting,
    tensor_shapes,
)
from ops.errors import one_line

INSTALL = "pip install '.[dictionaries]'"
# The names of Gemma Scope's dictionaries: the repository, followed by the layer and the width.
_GEMMA = re.compile(
    r"(gemma-scope-(?:2b|9b|27b)-(?:pt|it)-(?:res|mlp|att))(?:/snapshots/[^/]+)?/((?:layer_\d+|embedding)/.+)"
)
_GEMMA_EXAMPLE = ".../gemma-scope-2b-pt-res/layer_20/width_16k/average_l0_71"
_FAILS = (
    ValueError, KeyError, TypeError, AttributeError, RuntimeError, OSError, IndexError, ZeroDivisionError, ImportError
)  # fmt: skip


class Program(NamedTuple):
    """A program whose dictionaries are converted.

    Attributes:
        name: the program's name.
        files: the files that identify its folder and contain the dictionary.
        weights: the file with the tensors.
    """

    name: str
    files: tuple[str, ...]
    weights: str


PROGRAMS = (
    Program("sparsify", ("cfg.json", "sae.safetensors"), "sae.safetensors"),
    Program("Gemma Scope", ("params.npz",), "params.npz"),
    Program("Llama Scope", ("hyperparams.json", "checkpoints/final.safetensors"), "checkpoints/final.safetensors"),
)


def program_of(folder: Path) -> Program | None:
    """Return the program whose files a folder contains; None if the files are of no known program."""
    return next((own for own in PROGRAMS if all((folder / name).is_file() for name in own.files)), None)


def convert(asked: Asked, folder: Path, program: Program) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Return a dictionary of another program as SAELens would save it: its configuration, and its tensors by name.

    Raises:
        InputError: sae-lens is not installed, cannot be imported, cannot read the dictionary, or would read this kind
            wrongly.
    """
    if importlib.util.find_spec("sae_lens") is None:
        raise asked.error(f"is a dictionary of {program.name}, which the package sae-lens reads; install it: {INSTALL}")
    _look(asked, folder, program)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from sae_lens import SAE
        except Exception as error:
            raise asked.error(
                f"is a dictionary of {program.name}, which the package sae-lens reads; it is installed but cannot be "
                f"imported ({one_line(error, 200)}); install versions that fit together: {INSTALL}"
            ) from error
        try:
            found: Any = SAE.load_from_disk(folder, dtype="float32", converter=_CONVERTERS[program.name](asked))
            if program.name == "Llama Scope":
                found.fold_activation_norm_scaling_factor(_input_factor(asked, folder))
            cfg: dict[str, Any] = found.cfg.to_dict()
            return cfg, {name: tensor.detach() for name, tensor in found.state_dict().items()}
        except _FAILS as error:
            raise asked.error(f"sae-lens cannot read it as one of {program.name} ({one_line(error, 200)})") from error


def _look(asked: Asked, folder: Path, program: Program) -> None:
    """Refuse a dictionary that is damaged, too large or would be read wrongly, before any of it is loaded."""
    path = folder / program.weights
    shapes = _npz_shapes(asked, path) if path.suffix == ".npz" else tensor_shapes(asked, path)
    for name, shape in shapes.items():
        if len(shape) > 2 or any(size > max(MOST_FEATURES, MOST_WIDTH) for size in shape):
            raise asked.error(f"{name} in {path.name} has the shape {list(shape)}, which no dictionary has")
    if program.name == "sparsify":
        cfg = read_config(asked, folder / "cfg.json")
        for name in ("transcode", "skip_connection", "signed"):
            if setting(asked, cfg, name, False):
                raise asked.error(f"is a dictionary of sparsify with {name}, which is not read")
        if cfg.get("activation", "topk") != "topk":
            raise asked.error(f"its activation is {one_line(str(cfg['activation']), 40)}; of sparsify, topk is read")
    if program.name == "Gemma Scope" and _gemma_names(folder) is None:
        raise asked.error(
            f"a folder of Gemma Scope says in its path what it was trained on; expected one like {_GEMMA_EXAMPLE}"
        )


def _npz_shapes(asked: Asked, path: Path) -> dict[str, Shape]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name].shape for name in file.files}
    except (ValueError, OSError, EOFError, KeyError) as error:
        raise asked.error(f"{path.name} is damaged or cut off; copy it again") from error


def _gemma_names(folder: Path) -> tuple[str, str] | None:
    found = _GEMMA.search(folder.resolve().as_posix())
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
        from sae_lens.loading.pretrained_sae_loaders import gemma_2_sae_huggingface_loader

        names = _gemma_names(Path(path))
        assert names is not None
        with _files_of(Path(path)):
            cfg, tensors, _ = gemma_2_sae_huggingface_loader(*names, device=device, cfg_overrides=cfg_overrides)
        sizes = dict(zip(("d_in", "d_sae"), tensors["W_enc"].shape, strict=True))
        return cfg | sizes, tensors

    return read


def _llama_scope(asked: Asked) -> Converter:
    def read(path: Path, device: str, cfg_overrides: dict[str, Any]) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        from sae_lens.loading.pretrained_sae_loaders import llama_scope_sae_huggingface_loader

        with _files_of(Path(path)):
            cfg, tensors, _ = llama_scope_sae_huggingface_loader("", ".", device=device, cfg_overrides=cfg_overrides)
        return cfg, {name: tensor.contiguous() for name, tensor in tensors.items()}

    return read


_CONVERTERS = {"sparsify": _sparsify, "Gemma Scope": _gemma_scope, "Llama Scope": _llama_scope}


@contextmanager
def _files_of(folder: Path) -> Iterator[None]:
    """Make the sae-lens functions that read files from the hub read the files of a local folder instead."""

    def local(repo_id: str, filename: str, subfolder: str = "", **_: object) -> str:
        within = "checkpoints" if subfolder.endswith("checkpoints") else ""
        return str(folder / within / Path(filename).name)

    with patch("sae_lens.loading.pretrained_sae_loaders.hf_hub_download", local):
        yield


def _input_factor(asked: Asked, folder: Path) -> float:
    """Return Llama Scope's factor for states: the square root of the width divided by the mean norm in training."""
    said = read_config(asked, folder / "hyperparams.json")
    return float(said["d_model"] ** 0.5 / said["dataset_average_activation_norm"]["in"])
