import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ops.shards import ACTIVATIONS, BASELINE, LIMIT, ORDER, PILOT, Shards, draw, pilot_size, spans


@given(st.integers(1, 500), st.integers(1, 120))
@settings(deadline=None)
def test_shards_cover_every_id_once(sentences: int, size: int) -> None:
    shards = Shards(sentences, size)
    ids = [i for shard in range(len(shards)) for i in range(*shards.span(shard))]
    assert ids == list(range(sentences))
    assert all(b - a == size for a, b in map(shards.span, range(len(shards) - 1)))
    assert sorted(shards.order(3)) == list(range(len(shards)))
    assert spans(sentences, size) == [shards.span(i) for i in range(len(shards))]


@given(st.integers(1, 300), st.integers(1, 50), st.integers(0, 300))
@settings(deadline=None)
def test_ids_are_split_by_shard(sentences: int, size: int, drawn: int) -> None:
    shards = Shards(sentences, size)
    ids = draw(sentences, drawn, 0, PILOT)
    parts = shards.split(ids)
    assert len(parts) == len(shards)
    for shard, part in enumerate(parts):
        assert part.tolist() == [i for i in ids.tolist() if i // size == shard]


def test_the_order_is_the_seeds() -> None:
    shards = Shards(1000, 10)
    assert shards.order(0) == shards.order(0)
    assert shards.order(0) != shards.order(1)
    assert shards.order(0) != list(range(100))
    assert len(Shards(0, 10)) == 0


def test_a_draw_is_sorted_distinct_and_of_the_size_asked_for() -> None:
    ids = draw(1000, 50, 7, BASELINE)
    assert ids.dtype == np.int64
    assert len(set(ids.tolist())) == 50
    assert (np.diff(ids) > 0).all()
    assert 0 <= ids[0] <= ids[-1] < 1000
    assert draw(5, 5, 7, BASELINE).tolist() == draw(5, 9, 7, BASELINE).tolist() == [0, 1, 2, 3, 4]
    assert draw(5, 0, 7, BASELINE).tolist() == []


def test_draws_of_one_seed_have_nothing_to_do_with_each_other() -> None:
    purposes = (ORDER, LIMIT, ACTIVATIONS, PILOT, BASELINE)
    assert len(set(purposes)) == 5
    assert len({tuple(draw(1000, 20, 0, p).tolist()) for p in purposes}) == 5
    assert draw(1000, 20, 0, LIMIT).tolist() == draw(1000, 20, 0, LIMIT).tolist()
    assert draw(1000, 20, 0, LIMIT).tolist() != draw(1000, 20, 1, LIMIT).tolist()


def test_a_draw_is_uniform() -> None:
    counts = np.bincount(np.concatenate([draw(20, 5, seed, LIMIT) for seed in range(800)]), minlength=20)
    assert abs(counts - 200).max() < 60


@pytest.mark.parametrize(
    ("sentences", "at_most", "expected"),
    [(100, 4096, 100), (1000, 4096, 256), (50_000, 4096, 1000), (10**7, 4096, 4096), (1000, 10, 10), (5, 1, 1)],
)
def test_size_of_the_pilot(sentences: int, at_most: int, expected: int) -> None:
    assert pilot_size(sentences, at_most) == expected
