"""Reads files of tensors: their headers are inspected first, and none of their content is executed."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch

from ops.dictionaries.description import FLAG, Asked
from ops.errors import one_line
from ops.storage.small_files import read_small_file

Shape = tuple[int, ...]
Setting = TypeVar("Setting", bool, int, str, dict[str, Any])
MOST_FEATURES = 1 << 24
MOST_WIDTH = 1 << 17
_AT_ONCE = 1 << 24  # how many values are checked in one step
_TYPES = ("F64", "F32", "F16", "BF16")
_EXPECTED: dict[type, str] = {
    bool: "true or false", int: "a whole number", str: "a text", dict: "a table of names and values",
}  # fmt: skip


class Tensors(NamedTuple):
    """Tensors by name: their shapes, and functions that read them as float32."""

    shapes: Mapping[str, Shape]
    read: Callable[[str], torch.Tensor]

    @classmethod
    def of_file(cls, asked: Asked, path: Path) -> "Tensors":
        """Return the tensors of a safetensors file without reading any yet."""
        return cls(tensor_shapes(asked, path), partial(read_tensor, asked, path))

    @classmethod
    def of_memory(cls, tensors: dict[str, torch.Tensor]) -> "Tensors":
        """Return an object for tensors that are already in memory."""
        return cls({name: tuple(one.shape) for name, one in tensors.items()}, lambda name: tensors[name].float())


@contextmanager
def opened(asked: Asked, path: Path) -> Iterator[Any]:
    """Open a safetensors file.

    Raises:
        InputError: the file is damaged, incomplete, or does not exist.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            yield file
    except (SafetensorError, OSError) as error:
        raise asked.error(f"{path.name} is damaged or cut off ({one_line(error, 100)}); copy it again") from error


def tensor_shapes(asked: Asked, path: Path) -> dict[str, Shape]:
    """Return the name and shape of each tensor of a safetensors file, without reading any tensor.

    Raises:
        InputError: the file is damaged, or contains a number type that dictionaries do not use.
    """
    with opened(asked, path) as file:
        shapes = {}
        for name in file.keys():  # noqa: SIM118
            part = file.get_slice(name)
            if part.get_dtype() not in _TYPES:
                raise asked.error(f"{name} in {path.name} holds {part.get_dtype()}, expected floating-point numbers")
            shapes[name] = tuple(part.get_shape())
        return shapes


def read_tensor(asked: Asked, path: Path, name: str) -> torch.Tensor:
    """Return a tensor of a safetensors file as float32."""
    with opened(asked, path) as file:
        tensor: torch.Tensor = file.get_tensor(name)
    return tensor.float()


def read_config(asked: Asked, path: Path) -> dict[str, Any]:
    """Return the content of a JSON file of a dictionary.

    Raises:
        InputError: the file cannot be read, or is not a JSON object.
    """
    text = read_small_file(FLAG, str(path))
    try:
        content = json.loads(text)
        if not isinstance(content, dict):
            raise ValueError("it is not a table of names and values")
    except (ValueError, RecursionError) as error:
        raise asked.error(f"{path.name} cannot be read ({one_line(error, 100)})") from error
    return content


def setting(asked: Asked, cfg: dict[str, Any], key: str, default: Setting) -> Setting:
    """Return a value of a JSON file of a dictionary, which must be of the same kind as its default.

    An absent value, and null except for true or false, means the default.

    Raises:
        InputError: the value is of another kind.
    """
    value, kind = cfg.get(key, default), type(default)
    if value is None and kind is not bool:
        return default
    if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
        raise asked.error(f"{key} is {as_json(value)} in its configuration; expected {_EXPECTED[kind]}")
    return value


def as_json(value: object) -> str:
    """Return a value as JSON files have it, cut to 40 characters: a text in quotes."""
    return one_line(json.dumps(value, ensure_ascii=False), 40)


def read_array(asked: Asked, path: Path) -> np.ndarray:
    """Return the array of a `.npy` file as a memory map; a file that contains Python objects is refused.

    Raises:
        InputError: the file is not such an array, or is incomplete.
    """
    try:
        with np.errstate(over="raise"):  # otherwise a size beyond 64 bits warns, and becomes another size
            array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # a header can be wrong in many ways, and numpy has an error for each
        raise asked.error(
            "is not an array of numbers, or its header does not fit its content; save it again with numpy.save"
        ) from error
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu":
        raise asked.error("holds no array of numbers")
    return array


def check_finite(asked: Asked, name: str, values: torch.Tensor) -> None:
    """Refuse weights, cast to float32, that contain NaN or infinity."""
    flat = values.reshape(-1)
    for start in range(0, len(flat), _AT_ONCE):
        if not bool(torch.isfinite(flat[start : start + _AT_ONCE]).all()):
            raise asked.error(
                f"its weights are not all finite ({name} holds a NaN, an infinity, or a number beyond float32)"
            )


def check_size(asked: Asked, width: object, features: object, where: str) -> tuple[int, int]:
    """Return the width and the number of features after checking that a dictionary can have these sizes.

    Raises:
        InputError: a size is not an integer, is not positive, or is too large.
    """
    for name, value, most in (("width", width, MOST_WIDTH), ("number of features", features, MOST_FEATURES)):
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= most:
            raise asked.error(f"its {name} is {as_json(value)} {where}; expected a number from 1 to {most:,}")
    assert isinstance(width, int)
    assert isinstance(features, int)
    return width, features


def sha256_of(files: list[Path]) -> str:
    """Return one sha256 for several files, computed from the sha256 of each file."""
    whole = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()
