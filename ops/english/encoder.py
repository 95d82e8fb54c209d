"""The Reader as the model of spaCy's tok2vec pipe, whose vectors the tagger and the parser share."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from spacy.attrs import IS_SPACE, ORTH  # type: ignore[import-not-found]
from spacy.strings import StringStore
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model, PyTorchShim

from ops.arrays import Float32s, UInt64s
from ops.english.network import Reader
from ops.english.segments import sentence_spans
from ops.english.weights import pack, unpack
from ops.english.words import FEATURES, Inventory

CACHED_WORDS = 50_000


@registry.architectures("atlas.EnglishReader.v1")  # type: ignore[untyped-decorator]
def english_reader(hidden: int) -> Model[list[Doc], list[Float32s]]:
    """Return a model that maps Docs to `[tokens, 2 * hidden + 1]` each; the last column is 1 for white space, else 0.

    The weights are loaded by `from_disk` or `set_reader`; `nlp.update` does not change them.
    """
    empty = Reader(Inventory(dict.fromkeys(FEATURES, ())), width=1, hidden=hidden, layers=1, windows=0)
    shim = PyTorchShim(empty, serialize_model=pack, deserialize_model=lambda _, packed, device: unpack(packed))
    return Model(
        "english_reader", _forward, dims={"nO": 2 * hidden + 1}, shims=[shim], attrs={"cache": WordVectorCache()}
    )


def set_reader(model: Model[list[Doc], list[Float32s]], reader: Reader) -> None:
    """Put a trained Reader into a model that `english_reader` made."""
    model.shims[0]._model = reader.eval()


class WordVectorCache:
    """A cache of word vectors, which do not depend on the context.

    It is emptied when the Reader changes, and when it would grow beyond its bound.

    Args:
        most_words: maximum number of distinct words in the cache.
    """

    def __init__(self, most_words: int = CACHED_WORDS) -> None:
        self._most_words = most_words
        self._reader: Reader | None = None
        self._rows: dict[int, int] = {}
        self._vectors = torch.empty(0)

    def vectors(self, reader: Reader, words: UInt64s, strings: StringStore) -> torch.Tensor:
        """Return the vectors of words given by their spaCy hashes, `[words, width]` float32."""
        kinds, places = np.unique(words, return_inverse=True)
        keys = kinds.tolist()
        new = [key for key in keys if key not in self._rows] if reader is self._reader else keys
        if new:
            if reader is not self._reader or len(self._rows) + len(new) > self._most_words:
                self._reader, self._rows, self._vectors, new = reader, {}, torch.empty(0, reader.width), keys
            rows = torch.from_numpy(reader.inventory.rows([strings[key] for key in new]))
            self._vectors = torch.cat([self._vectors, reader.words(rows)])
            self._rows.update(zip(new, range(len(self._rows), len(self._rows) + len(new)), strict=True))
        found = np.fromiter((self._rows[key] for key in keys), np.int64, len(keys))
        return self._vectors[torch.from_numpy(found[places])]


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
            vectors = model.attrs["cache"].vectors(reader, table[~space, 0], docs[0].vocab.strings)
            read[~space, :-1] = reader(vectors, lengths).numpy()
    return np.split(read, np.cumsum([len(doc) for doc in docs])[:-1]), lambda gradients: []
