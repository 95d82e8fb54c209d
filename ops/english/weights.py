"""A compact byte format for a Reader: embeddings as 8-bit integers with a scale per row, the rest in half precision."""

import numpy as np
import srsly  # type: ignore[import-untyped]
import torch
from numpy.typing import NDArray

from ops.english.network import Reader
from ops.english.words import Inventory

SETTINGS = ("width", "hidden", "layers", "windows")


def pack(reader: Reader) -> bytes:
    """Return the settings, the inventory and the weights of a Reader as bytes."""
    weights = {}
    for name, tensor in reader.state_dict().items():
        array = tensor.numpy()
        if name in embeddings(reader):
            scale = np.maximum(np.abs(array).max(1, keepdims=True), 1e-4).astype(np.float16)
            weights[name] = np.round(array / scale * 127).astype(np.int8)
            weights[f"{name}.scale"] = scale
        else:
            weights[name] = array.astype(np.float16)
    settings = {name: getattr(reader, name) for name in SETTINGS}
    return bytes(srsly.msgpack_dumps({"settings": settings, "forms": reader.inventory.kept, "weights": weights}))


def unpack(packed: bytes) -> Reader:
    """Return the Reader that `pack` wrote, in single precision."""
    content = srsly.msgpack_loads(packed)
    reader = Reader(Inventory(content["forms"]), **content["settings"])
    weights: dict[str, NDArray[np.generic]] = content["weights"]
    quantised = embeddings(reader)
    state = {}
    for name in reader.state_dict():
        state[name] = torch.from_numpy(weights[name].astype(np.float32))
        if name in quantised:
            state[name] *= torch.from_numpy(weights[f"{name}.scale"].astype(np.float32) / 127)
    reader.load_state_dict(state)
    return reader.eval()


def embeddings(reader: Reader) -> frozenset[str]:
    """Return the names of a Reader's embedding tables among its weights."""
    return frozenset(f"{name}.weight" for name, part in reader.named_modules() if isinstance(part, torch.nn.Embedding))
