"""Which data sets have winners of their own, and which sentences are theirs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.errors import InputError
from ops.topk.datasets import LEAST_SENTENCES, MOST_DATASETS, NO_DATASET, NO_DATASETS, Datasets

Source = dict[str, object]


def sources(*kept: tuple[str, int]) -> list[Source]:
    """What ingest counts of sources of these data sets and sentences, one after another."""
    firsts = np.cumsum([0, *(n for _, n in kept)]).tolist()
    return [
        {"dataset": name, "kept": n, "first_sent_id": first} for (name, n), first in zip(kept, firsts, strict=False)
    ]


names = st.sampled_from(["", " ", "a", "b", "a/b", "x\ny", "é", "\u202e", "top", "a" * 300])


@given(st.lists(st.tuples(names, st.integers(0, 60)), max_size=12), st.integers(1, 4))
def test_every_sentence_is_of_the_data_set_of_its_source(kept: list[tuple[str, int]], k: int) -> None:
    found = Datasets.chosen(k, sources(*kept))
    of = [name for name, n in kept for _ in range(n)]
    enough = sorted(name for name in {name for name, _ in kept} if of.count(name) >= LEAST_SENTENCES * k)
    assert found.names == tuple(enough)
    assert found.sizes == tuple(of.count(name) for name in enough)
    ids = np.random.default_rng(0).permutation(len(of) + 3)
    expected = [enough.index(of[i]) if i < len(of) and of[i] in enough else NO_DATASET for i in ids]
    assert found.of_ids(ids).tolist() == expected
    split = dict(found.split(ids))
    assert sorted(split) == sorted(set(expected) - {NO_DATASET})
    for place, rows in split.items():
        assert rows.tolist() == [row for row, own in enumerate(expected) if own == place]
    for first in range(0, len(of), 17):
        own = {enough.index(name) for name in of[first : first + 20] if name in enough}
        assert found.in_span(first, min(first + 20, len(of))) == sorted(own)
        alone = set(of[first : first + 20]) <= set(enough) and len(own) == 1
        assert found.whole_span(first, min(first + 20, len(of))) == (own.pop() if alone else None)


def test_none_are_asked_for_or_none_is_large_enough() -> None:
    assert Datasets.chosen(0, sources(("a", 10**6))) == NO_DATASETS
    none = Datasets.chosen(50, sources(("a", 999)))
    assert (none.k, len(none), none.winners) == (50, 0, 0)
    assert none.of_ids(np.arange(3)).tolist() == [NO_DATASET] * 3
    assert list(none.split(np.arange(3))) == []
    assert none.in_span(0, 999) == []
    assert none.said(sources(("a", 999))) == ("the first 50 within 0 data sets: none; fewer than 1,000 sentences: a")


def test_twenty_data_sets_and_no_more() -> None:
    many = sources(*((f"set {i:02d}", 40 + i) for i in range(MOST_DATASETS + 5)))
    with pytest.raises(InputError) as error:
        Datasets.chosen(2, many)
    said = str(error.value)
    assert said.startswith(
        "--k-per-dataset 2: 25 data sets have at least 40 sentences, 20 for each winner, but at most "
    )
    assert said.endswith("give 3 or more, or 0 to turn it off")
    assert len(Datasets.chosen(3, many)) == 5
    assert len(Datasets.chosen(2, many[:MOST_DATASETS])) == MOST_DATASETS
