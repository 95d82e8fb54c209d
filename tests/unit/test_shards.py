from hypothesis import given
from hypothesis import strategies as st

from ops.sampling import PILOT, draw
from ops.shards import Shards, shard_size, spans


@given(st.integers(1, 500), st.integers(1, 120))
def test_shards_cover_every_id_once_and_split_ids(sentences: int, size: int) -> None:
    shards = Shards(sentences, size)
    ids = [i for shard in range(len(shards)) for i in range(*shards.span(shard))]
    assert ids == list(range(sentences))
    assert all(b - a == size for a, b in map(shards.span, range(len(shards) - 1)))
    assert sorted(shards.order(3)) == list(range(len(shards)))
    assert spans(sentences, size) == [shards.span(i) for i in range(len(shards))]
    chosen = draw(sentences, sentences // 2, size, PILOT)
    assert [part.tolist() for part in shards.split(chosen)] == [
        [i for i in chosen.tolist() if i // size == shard] for shard in range(len(shards))
    ]


@given(st.integers(0, 10**9))
def test_a_corpus_has_32_shards_unless_they_would_be_small_or_large(sentences: int) -> None:
    size = shard_size(sentences)
    assert 500 <= size <= 100_000
    shards = len(Shards(sentences, size))
    if sentences < 32 * 500:
        assert size == 500
    elif sentences > 32 * 100_000:
        assert size == 100_000
    else:
        assert 31 <= shards <= 32
        assert (shards - 1) * size < sentences


def test_the_order_is_the_seeds() -> None:
    shards = Shards(1000, 10)
    assert shards.order(0) == shards.order(0)
    assert shards.order(0) != shards.order(1)
    assert shards.order(0) != list(range(100))
    assert len(Shards(0, 10)) == 0
