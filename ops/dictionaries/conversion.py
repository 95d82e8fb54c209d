"""Converts dictionaries into the format of SAELens; the package sae-lens reads most of other programs.

Some details differ from sae-lens 6.54.12:

- Numbers stay float32, while the readers of sae-lens for sparsify and Llama Scope cast to bfloat16.
- A dictionary of sparsify subtracts the decoder's bias from its input, as sparsify's own `encode` does. Its decoder is
  not transposed, and it reads the module after which its folder is named.
- The factor by which Llama Scope multiplies its input is folded into the weights.
- Qwen-Scope and cross-layer transcoders are read here (`ops.dictionaries.own_readers`).

Its list of trained dictionaries is read from its own file, without importing it.
"""

import importlib.util
import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import torch

from ops.dictionaries.description import Asked
from ops.dictionaries.own_readers import (
    CONFIG,
    WEIGHTS,
    Converted,
    is_cross_layer,
    is_qwen_scope,
    read_cross_layer,
    read_qwen_scope,
    read_saelens,
)
from ops.dictionaries.tensor_files import (
    MOST_FEATURES,
    MOST_WIDTH,
    Shape,
    Tensors,
    read_config,
    read_tensor,
    setting,
    tensor_shapes,
)
from ops.errors import InputError, one_line

OLDEST = "6.54.12"  # of sae-lens
INSTALL = "pip install '.[dictionaries]'"
# The paths of Gemma Scope's dictionaries: the repository, followed by the layer and the width.
_GEMMA = re.compile(
    r"(gemma-scope-(?:2b|9b|27b)-(?:pt|it)-(?:res|mlp|att|transcoders))(?:/snapshots/[^/]+)?/((?:layer_\d+|embedding)/.+)"
)
_GEMMA_2 = re.compile(r"(gemma-scope-2-\w+-(?:pt|it))(?:/snapshots/[^/]+)?/(.*layer_\d+.*)")


class Listed(NamedTuple):
    """A dictionary in the list of sae-lens.

    Attributes:
        release, identifier: its names in sae-lens.
        loader: the name of the function that reads it; empty for SAELens's own format.
        root: a local copy of its repository; None if its files are downloaded from the hub.
    """

    release: str
    identifier: str
    loader: str
    root: Path | None


def find_listed(text: str) -> Listed | None:
    """Return the dictionary that a text names in the list of sae-lens; None if it is not listed or not installed.

    The text is RELEASE/ID as in sae-lens, ORG/NAME/PATH as on the hub, or a local copy's path that ends with NAME/PATH.
    """
    listed = _read_list()
    by_hub: dict[str, tuple[str, str, str]] = {}
    for release, entry in listed.items():
        loader = entry.get("conversion_func") or ""
        for one in entry["saes"]:
            if text == f"{release}/{one['id']}":
                return Listed(release, one["id"], loader, None)
            by_hub.setdefault(f"{entry['repo_id']}/{one['path']}", (release, one["id"], loader))
    if text in by_hub:
        return Listed(*by_hub[text], None)
    here = Path(os.path.expanduser(text)).absolute()
    local = re.sub(r"/snapshots/[^/]+", "", here.as_posix())
    for name, names in by_hub.items():
        within = name.split("/", 2)[2]
        if local.endswith((f"/{name.split('/', 1)[1]}", f"--{name.split('/', 1)[1]}")):
            root = here.parents[within.count("/")]
            return Listed(*names, root) if root.is_dir() else None
    return None


@lru_cache(maxsize=1)
def _read_list() -> dict[str, Any]:
    """Return the list: for each release its `repo_id` and its `saes`, each with `id` and `path`; empty without it."""
    import yaml

    spec = importlib.util.find_spec("sae_lens")
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    file = next((path for folder in folders if (path := Path(folder) / "pretrained_saes.yaml").is_file()), None)
    if file is None:
        return {}
    # The fast loader reads the large file in a second; it is missing where PyYAML was built without libyaml.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return dict(yaml.load(file.read_text(encoding="utf-8"), Loader=loader))


class Program(NamedTuple):
    """A program that saves dictionaries.

    Attributes:
        name: the program's name.
        read: the function that reads one of its dictionaries.
        files: the files that identify its folder and contain the dictionary; empty if a file is given, not a folder.
        needs_package: whether `read` uses the package sae-lens.
    """

    name: str
    read: Callable[[Asked, Path], Converted]
    files: tuple[str, ...] = ()
    needs_package: bool = True


def program_of(path: Path) -> Program | None:
    """Return the program to which a file or the files of a folder belong; None if they are of no known program."""
    if is_qwen_scope(path):
        return Program("Qwen-Scope", read_qwen_scope, needs_package=False)
    if is_cross_layer(path):
        return Program("a cross-layer transcoder", read_cross_layer, needs_package=False)
    if path.suffix == ".safetensors" and "/clt/" in path.as_posix() and _GEMMA_2.search(path.resolve().as_posix()):
        return Program("Gemma Scope 2", _read_gemma_scope_2)
    return next((program for program in PROGRAMS if all((path / name).is_file() for name in program.files)), None)


def convert(asked: Asked, path: Path, program: Program) -> Converted:
    """Return a dictionary as SAELens would save it.

    Raises:
        InputError: sae-lens is not installed, cannot be imported, cannot read the dictionary, or would read this kind
            wrongly.
    """
    if not program.needs_package:
        return program.read(asked, path)
    needs = f"is a dictionary of {program.name}, which the package sae-lens reads; "
    if importlib.util.find_spec("sae_lens") is None:
        raise asked.error(f"{needs}install it: {INSTALL}")
    _check_version(asked)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import sae_lens  # noqa: F401
        except Exception as error:
            raise asked.error(
                f"{needs}it is installed but cannot be imported ({one_line(error, 200)}); install versions that fit "
                f"together (sae-lens {OLDEST} or later): {INSTALL}"
            ) from error
        try:
            converted = program.read(asked, path)
        except InputError:
            raise
        except Exception as error:
            raise asked.error(f"sae-lens cannot read it as one of {program.name} ({one_line(error, 200)})") from error
    return converted if converted.files else converted._replace(files=[path / name for name in program.files] or [path])


def _check_version(asked: Asked) -> None:
    """Refuse a sae-lens that is too old: it lacks readers, and breaks with newer versions of TransformerLens."""
    from importlib.metadata import PackageNotFoundError, version

    from packaging.version import Version

    try:
        installed = version("sae-lens")
    except PackageNotFoundError:  # imported from a folder
        return
    if Version(installed) < Version(OLDEST):
        raise asked.error(f"needs sae-lens {OLDEST} or later, and {installed} is installed; {INSTALL}")


def _read_sparsify(asked: Asked, folder: Path) -> Converted:
    from sae_lens.loading.pretrained_sae_loaders import sparsify_disk_loader

    cfg, weights = read_config(asked, folder / "cfg.json"), folder / "sae.safetensors"
    for name in ("transcode", "skip_connection", "signed"):
        if setting(asked, cfg, name, False):
            raise asked.error(f"is a dictionary of sparsify with {name}, which is not read")
    if cfg.get("activation", "topk") != "topk":
        raise asked.error(f"its activation is {one_line(str(cfg['activation']), 40)}; of sparsify, topk is read")
    has_decoder = "W_dec" in _checked_shapes(asked, weights)

    def load(device: str, cfg_overrides: dict[str, Any], **_: object) -> Any:
        own = {"apply_b_dec_to_input": True, "hook_name": folder.resolve().name}
        cfg, tensors = sparsify_disk_loader(folder.resolve(), device, cfg_overrides | own)
        return cfg, tensors | ({"W_dec": read_tensor(asked, weights, "W_dec")} if has_decoder else {}), None

    sae = _load(("EleutherAI/sparsify", folder.name), partial(_in_folder, folder), load)
    return _converted(sae)._replace(is_named=True)


def _read_gemma_scope(asked: Asked, folder: Path) -> Converted:
    from sae_lens.loading import pretrained_sae_loaders as loaders

    _checked_shapes(asked, folder / "params.npz")
    names = _names(asked, folder, "Gemma Scope", _GEMMA, "gemma-scope-2b-pt-res/layer_20/width_16k/average_l0_71")
    transcodes = names[0].endswith("transcoders")
    loader = loaders.gemma_2_transcoder_huggingface_loader if transcodes else loaders.gemma_2_sae_huggingface_loader

    def load(**options: Any) -> Any:
        cfg, tensors, _ = loader(**options)
        if transcodes:
            cfg["d_out"] = tensors["b_dec"].shape[0]
        return cfg | dict(zip(("d_in", "d_sae"), tensors["W_enc"].shape, strict=True)), tensors, None

    return _converted(_load(names, partial(_in_folder, folder), load))


def _read_gemma_scope_2(asked: Asked, path: Path) -> Converted:
    from sae_lens.loading.pretrained_sae_loaders import gemma_3_sae_huggingface_loader

    folder = path if path.is_dir() else path.parent
    _checked_shapes(asked, path / "params.safetensors" if path.is_dir() else path)
    like = "gemma-scope-2-1b-pt/resid_post/layer_13_width_16k_l0_medium"
    repository, name = _names(asked, path, "Gemma Scope 2", _GEMMA_2, like)
    names = (repository, name.removesuffix(".safetensors"))
    # A file is one layer of a cross-layer transcoder.
    return _converted(_load(names, partial(_in_folder, folder), gemma_3_sae_huggingface_loader), decodes=path.is_dir())


def _read_llama_scope(asked: Asked, folder: Path) -> Converted:
    from sae_lens.loading.pretrained_sae_loaders import llama_scope_sae_huggingface_loader

    _checked_shapes(asked, folder / "checkpoints" / "final.safetensors")
    sae = _load(("fnlp/Llama-Scope", "."), partial(_in_folder, folder), llama_scope_sae_huggingface_loader)
    # States are multiplied by the square root of the width divided by their mean norm in training.
    cfg = read_config(asked, folder / "hyperparams.json")
    sae.fold_activation_norm_scaling_factor(cfg["d_model"] ** 0.5 / cfg["dataset_average_activation_norm"]["in"])
    return _converted(sae)


def read_listed(listed: Listed, asked: Asked, path: Path) -> Converted:
    """Read a dictionary in the list of sae-lens, from its local copy or the hub."""
    import huggingface_hub

    files: list[Path] = []

    def find(repository: str, name: str) -> Path:
        root = listed.root
        path = root / name if root is not None else Path(huggingface_hub.hf_hub_download(repository, name))
        if path.is_file():
            files.append(path)
        return path

    sae = _load((listed.release, listed.identifier), find)
    return _converted(sae, sorted(set(files)), decodes=listed.loader != "mntss_clt_layer_transcoder")


SAELENS = Program("SAELens", read_saelens, (CONFIG, WEIGHTS), needs_package=False)
PROGRAMS = (
    Program("sparsify", _read_sparsify, ("cfg.json", "sae.safetensors")),
    Program("Gemma Scope", _read_gemma_scope, ("params.npz",)),
    Program("Gemma Scope 2", _read_gemma_scope_2, ("params.safetensors",)),
    Program("Llama Scope", _read_llama_scope, ("hyperparams.json", "checkpoints/final.safetensors")),
    SAELENS,
)


def _names(asked: Asked, path: Path, program: str, pattern: re.Pattern[str], like: str) -> tuple[str, str]:
    """Return the repository and the name of a dictionary of Gemma Scope by its path."""
    match = pattern.search(path.resolve().as_posix())
    if match is None:
        raise asked.error(
            f"a folder of {program} says in its path what it was trained on; expected one like .../{like}"
        )
    return f"google/{match[1]}", match[2]


def _checked_shapes(asked: Asked, path: Path) -> dict[str, Shape]:
    """Return the shapes of a file's tensors, and refuse one that is damaged or too large before any is loaded."""
    shapes = tensor_shapes(asked, path) if path.suffix != ".npz" else _npz_shapes(asked, path)
    for name, shape in shapes.items():
        if len(shape) > 3 or any(size > max(MOST_FEATURES, MOST_WIDTH) for size in shape):
            raise asked.error(f"{name} in {path.name} has the shape {list(shape)}, which no dictionary has")
    return shapes


def _npz_shapes(asked: Asked, path: Path) -> dict[str, Shape]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name].shape for name in file.files}
    except (ValueError, OSError, EOFError, KeyError) as error:
        raise asked.error(f"{path.name} is damaged or cut off; copy it again") from error


Find = Callable[[str, str], Path]


def _load(names: tuple[str, str], find: Find, loader: Callable[..., Any] | None = None) -> Any:
    """Return a dictionary as sae-lens reads it, by a loader of sae-lens unless it is in its list.

    `names` are its release and identifier in the list, or any repository and a name in it.
    """
    from sae_lens import SAE

    with _files_of(find):
        return SAE.from_pretrained(*names, device="cpu", dtype="float32", converter=loader)


def _converted(sae: Any, files: Sequence[Path] = (), decodes: bool = True) -> Converted:
    tensors = {name: tensor.detach().contiguous() for name, tensor in sae.state_dict().items()}
    return Converted(sae.cfg.to_dict(), Tensors.of_memory(tensors), list(files), decodes)


def _in_folder(folder: Path, repository: str, name: str) -> Path:
    """Return the file of a local folder that stands for the file of this name in a repository."""
    within = "checkpoints" if Path(name).parent.name == "checkpoints" else ""
    return folder / within / Path(name).name


@contextmanager
def _files_of(find: Find) -> Iterator[None]:
    """Make the loaders of sae-lens read the files that `find` returns, and never run a pickle."""
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
