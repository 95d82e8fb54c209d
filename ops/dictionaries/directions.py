"""Directions as units: a user's array, or a random orthogonal basis, both linear, without a bias, with two poles."""

from pathlib import Path

import numpy as np
import torch

from ops.dictionaries.description import Asked, Description
from ops.dictionaries.tensor_files import check_finite, check_size, read_array, read_tensor, sha256_of, tensor_shapes
from ops.model.sites import HookPoint
from ops.sampling import BASIS, random_rotation

ROTATED = "rotated:"
_MOST_SEED = 1 << 32


def describe_file(asked: Asked, path: Path) -> Description:
    """Return the description of a `.npy` or `.safetensors` file with one array `[features, width]`.

    Raises:
        InputError: the file contains anything else, or the array contains NaN or infinity.
    """
    shapes = tensor_shapes(asked, path) if _is_safe(path) else {"the array": read_array(asked, path).shape}
    if len(shapes) != 1:
        raise asked.error(f"holds {len(shapes)} arrays, expected one of directions, [features, width]")
    (shape,) = shapes.values()
    if len(shape) != 2:
        raise asked.error(f"its array has the shape {list(shape)}, expected [features, width]")
    width, features = check_size(asked, shape[1], shape[0], "by its shape")
    point = HookPoint(asked.layer, "residual")
    found = Description(asked, "directions", "linear", width, features, point, None, sha256_of([path]))
    check_finite(asked, "the array", load_file(found, path)["encoder"])
    return found


def describe_rotation(asked: Asked, width: int) -> Description:
    """Return the description of `rotated:SEED` for a model of this width.

    Raises:
        InputError: SEED is not an integer.
    """
    text = asked.path.removeprefix(ROTATED)
    if not text.isdecimal() or len(text) > 10 or int(text) >= _MOST_SEED:
        raise asked.error(f"expected {ROTATED}SEED, where SEED is a whole number below {_MOST_SEED:,}")
    made_by = f"rotated basis {int(text)} of layer {asked.layer}, {width} wide"
    return Description(asked, "rotated", "linear", width, width, HookPoint(asked.layer, "residual"), None, made_by)


def load_file(description: Description, path: Path) -> dict[str, torch.Tensor]:
    """Return the directions as `encoder`, `[width, features]` float32."""
    asked = description.asked
    if _is_safe(path):
        (name,) = tensor_shapes(asked, path)
        return {"encoder": read_tensor(asked, path, name).T}
    with np.errstate(over="ignore"):  # `check_finite` refuses numbers that become infinite
        return {"encoder": torch.from_numpy(np.array(read_array(asked, path), np.float32).T)}


def load_rotation(description: Description) -> dict[str, torch.Tensor]:
    """Return the axes as `encoder`, `[width, width]` float32, whose columns are orthonormal."""
    seed = int(description.asked.path.removeprefix(ROTATED))
    rng = np.random.default_rng([seed, BASIS, description.layer])
    return {"encoder": torch.from_numpy(random_rotation(description.width, rng).astype(np.float32))}


def _is_safe(path: Path) -> bool:
    """Return whether a file is a safetensors file: whether a brace follows the eight bytes of the header's length."""
    with path.open("rb") as file:
        return file.read(9)[8:] == b"{"
