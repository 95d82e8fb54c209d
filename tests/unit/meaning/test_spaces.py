from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ops.meaning.offsets import frequent_words, space_names, spaces_by_name
from ops.meaning.readers import WordSums, embedded
from ops.model.load import load_model, read_facts
from ops.model.tokenizer import Tokenizer


def test_the_most_frequent_words_come_first_and_of_equal_ones_the_first() -> None:
    vectors = pa.array(np.arange(8, dtype=np.float32).reshape(4, 2).tolist(), pa.list_(pa.float32()))
    table = pa.table({"word": ["a", "b", "c", "d"], "count": [3, 9, 3, 1], "vector": vectors})
    words, found = frequent_words(pa.concat_tables([table[:1], table[1:]]), 3)
    assert words == ["b", "a", "c"]
    assert found.tolist() == [[2, 3], [0, 1], [4, 5]]


def test_every_space_has_its_own_vectors(make_model: Callable[..., Path], small_bert: Any) -> None:
    facts = read_facts(str(make_model(small_bert)))
    tokenizer, words = Tokenizer(facts), ["cat", "dog", "bird"]
    counts = np.eye(3, 4, dtype=np.float32)
    sums = WordSums(3, facts.layers * facts.width)
    states = np.random.default_rng(0).normal(size=(4, facts.layers * facts.width)).astype(np.float32)
    sums.update(np.array([0, 0, 1, 1]), states)
    spaces = list(spaces_by_name(words, counts, sums, facts, tokenizer))
    assert [space.name for space in spaces] == sorted(space_names(facts.layers))
    found = {space.name: space for space in spaces}
    assert found["counts"].vectors.tolist() == counts.tolist()
    table: Any = load_model(facts, "cpu", "float32").get_input_embeddings()  # type: ignore[operator]
    np.testing.assert_array_equal(found["embedding"].vectors, embedded(words, table.weight.detach(), tokenizer))
    # The third word was never read, and has no vector in the layers.
    assert found["layer:2"].words == ["cat", "dog"]
    own = np.array([states[:2].mean(0), states[2:].mean(0)])[:, facts.width :]
    np.testing.assert_allclose(found["layer:2"].vectors, own, atol=1e-6)
