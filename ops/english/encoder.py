"""The Reader as the model of spaCy's tok2vec pipe, whose vectors the tagger and the parser share, and its bytes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import srsly  # type: ignore[import-untyped]
import torch
from numpy.typing import NDArray
from spacy.attrs import IS_SPACE, ORTH  # type: ignore[import-not-found]
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model, PyTorchShim

from ops.arrays import Float32s
from ops.english.network import Reader
from ops.english.sentences import sentence_spans
from ops.english.words import FEATURES, Inventory

SETTINGS = ("width", "hidden", "layers", "windows")  # of a Reader, stored with its weights


@registry.architectures("atlas.EnglishReader.v1")  # type: ignore[untyped-decorator]
def english_reader(hidden: int) -> Model[list[Doc], list[Float32s]]:
    """Return a model that maps Docs to `[tokens, 2 * hidden + 1]` each; the last column is 1 for white space, else 0.

    The weights are loaded by `from_disk` or `set_reader`; `nlp.update` does not change them.
    """
    empty = Reader(Inventory(dict.fromkeys(FEATURES, ())), width=1, hidden=hidden, layers=1, windows=0)
    shim = PyTorchShim(empty, serialize_model=pack, deserialize_model=lambda _, packed, device: unpack(packed))
    return Model("english_reader", _forward, dims={"nO": 2 * hidden + 1}, shims=[shim])


def set_reader(model: Model[list[Doc], list[Float32s]], reader: Reader) -> None:
    """Put a trained Reader into a model that `english_reader` made."""
    model.shims[0]._model = reader.eval()


def pack(reader: Reader) -> bytes:
    """Return a Reader as bytes: embeddings as 8-bit integers with a scale per row, the rest in half precision."""
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


def _forward(
    model: Model[list[Doc], list[Float32s]], docs: Sequence[Doc], is_train: bool
) -> tuple[list[Float32s], Callable[[Any], list[Doc]]]:
    reader: Reader = model.shims[0]._model
    reader.eval()
    if not docs:
        return [], lambda gradients: []
    table = np.concatenate([doc.to_array([ORTH, IS_SPACE]).reshape(-1, 2) for doc in docs])
    space = table[:, 1] != 0
    read = np.zeros((len(table), model.get_dim("nO")), np.float32)
    read[space, -1] = 1
    lengths: list[int] = []
    before = 0
    for doc in docs:
        lengths.extend(int((~space[before + start : before + end]).sum()) for start, end in sentence_spans(doc))
        before += len(doc)
    lengths = [length for length in lengths if length]
    if lengths:
        with torch.inference_mode():
            kinds, places = np.unique(table[~space, 0], return_inverse=True)
            rows = reader.inventory.rows([docs[0].vocab.strings[key] for key in kinds.tolist()])
            vectors = reader.words(torch.from_numpy(rows))[torch.from_numpy(places)]
            read[~space, :-1] = reader(vectors, lengths).numpy()
    return np.split(read, np.cumsum([len(doc) for doc in docs])[:-1]), lambda gradients: []
