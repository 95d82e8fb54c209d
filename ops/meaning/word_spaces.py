"""The spaces in which words are compared: vectors from counts, the model's token embeddings, and its layers."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Float32s
from ops.meaning.offsets import Space, make_space
from ops.meaning.word_states import WordSums, embedded
from ops.model.load import ModelFacts, load_model
from ops.model.tokenizer import Tokenizer

COUNTS, EMBEDDING = "counts", "embedding"


def frequent_words(table: pa.Table, most: int) -> tuple[list[str], Float32s]:
    """Return the words to compare, by descending count and then by word, and their vectors from the counts.

    Args:
        table: the table `meaning/words`.
        most: maximum number of words.
    """
    order = np.lexsort((np.arange(table.num_rows), -table["count"].to_numpy()))[:most]
    chosen = table.take(pa.array(order))
    return chosen["word"].to_pylist(), pc.list_flatten(chosen["vector"]).to_numpy().reshape(len(order), -1)


def space_names(layers: int) -> list[str]:
    """Return the names of the spaces of a model with this number of layers.

    >>> space_names(2)
    ['counts', 'embedding', 'layer:1', 'layer:2']
    """
    return [COUNTS, EMBEDDING, *(f"layer:{i + 1}" for i in range(layers))]


def spaces_by_name(
    words: list[str], vectors: Float32s, sums: WordSums, facts: ModelFacts, tokenizer: Tokenizer
) -> Iterator[Space]:
    """Yield every space in the order of their names, one at a time.

    Args:
        words, vectors: the words, and their vectors from the counts.
        sums: the sums of the words' states in all layers.
        facts, tokenizer: the model and its tokenizer; the model is loaded for its token embeddings.
    """
    table = load_model(facts, "cpu", "float32").get_input_embeddings().weight.detach()  # type: ignore[operator]
    for name in sorted(space_names(facts.layers)):
        if name == COUNTS:
            yield make_space(name, words, vectors)
        elif name == EMBEDDING:
            yield make_space(name, words, embedded(words, table, tokenizer))
        else:
            layer = int(name.removeprefix("layer:")) - 1
            here = slice(layer * facts.width, (layer + 1) * facts.width)
            means = sums.total[:, here] / np.maximum(sums.count, 1)[:, None]
            yield make_space(name, words, means.astype(np.float32))
