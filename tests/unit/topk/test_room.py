"""Whether there is room: what would be refused, named."""

from pathlib import Path

import pytest

from ops.errors import InputError
from ops.shards import Shards
from ops.storage.store import Store
from ops.topk.room import MOST_BEYOND, check_room, needed_bytes, slots_of

SIZES = {"neurons": 100, "k": 10, "poles": 2, "sample": 5}


def test_no_room_is_refused_and_just_enough_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shards, store = Shards(1_000, 100), Store(str(tmp_path))
    need = sum(needed_bytes(**SIZES, shards=shards))
    monkeypatch.setattr(Store, "free_bytes", lambda store: need)
    check_room(store, **SIZES, shards=shards)
    monkeypatch.setattr(Store, "free_bytes", lambda store: need - 1)
    with pytest.raises(InputError, match=r"are free there and about .* or lower --k$"):
        check_room(store, **SIZES, shards=shards)


def test_a_large_activation_sample_is_the_option_to_lower_and_no_larger_than_the_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards, store = Shards(1_000, 100), Store(str(tmp_path))
    assert needed_bytes(100, 1, 1, 10**12, shards) == needed_bytes(100, 1, 1, 1_000, shards)
    monkeypatch.setattr(Store, "free_bytes", lambda store: 800_000)
    with pytest.raises(InputError, match=r"or lower --activation-sample$"):
        check_room(store, 100, 1, 1, 10**12, shards)


def test_more_sentences_than_there_are_need_no_room() -> None:
    few, many = (needed_bytes(100, k, 1, 0, Shards(50, 50)) for k in (50, 1_000))
    assert few == many


def test_a_gpu_too_small_for_the_winners_is_refused_by_what_helps() -> None:
    neurons, k = 36_864, 10_000
    needed = 8 * neurons * 2 * 15_000
    assert slots_of(needed, neurons, k, 2) == 3_750  # a quarter of it; a reducer takes 15,000 at least
    with pytest.raises(InputError, match=r"--k 10000: the winners so far of 36,864 neurons take 8.8 GB .*--poles top"):
        slots_of(needed - 1, neurons, k, 2)
    with pytest.raises(InputError, match=r"lower --k, or score on CPUs"):
        slots_of(1, neurons, k, 1)
    assert slots_of(1 << 40, neurons, k, 2) == k + MOST_BEYOND
