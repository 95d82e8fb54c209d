import numpy as np

from ops.estimate.distinct_tokens import distinct_tokens
from ops.model.tokenizer import Tokens


def sample(ids: list[list[int]]) -> list[Tokens]:
    return [Tokens(own, [0] * len(own), False) for own in ids]


def test_they_grow_with_the_sentences_up_to_the_vocabulary_where_tokens_are_new() -> None:
    own = sample([[2 * i, 2 * i + 1] for i in range(10)])
    assert distinct_tokens(own, 10, 1_000) == 20
    assert distinct_tokens(own, 40, 1_000) == 80
    assert distinct_tokens(own, 40, 50) == 50
    assert distinct_tokens(sample([[1, 2, 3]] * 10), 1_000_000, 30_522) == 3


def test_it_comes_near_what_a_larger_corpus_has() -> None:
    drawn = (np.random.default_rng(0).zipf(1.5, (4_000, 10)) % 5_000).tolist()
    found = distinct_tokens(sample(drawn[:500]), 4_000, 5_000)
    assert 0.7 < found / len({i for row in drawn for i in row}) < 1.3
