"""Whether there is room: what would be refused, named."""

from dataclasses import replace
from pathlib import Path

import pytest

from ops.errors import InputError
from ops.shards import Shards
from ops.storage.store import Store
from ops.topk.datasets import NO_DATASETS, Datasets
from ops.topk.room import MOST_BEYOND, check_room, device_rooms, needed_bytes, state_bytes

SIZES = {"neurons": 100, "k": 10, "poles": 2, "sample": 5, "sparse": False, "datasets": NO_DATASETS}


def test_no_room_is_refused_and_just_enough_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shards, store = Shards(1_000, 100), Store(str(tmp_path))
    need = sum(needed_bytes(**SIZES, shards=shards))
    monkeypatch.setattr(Store, "free_bytes", lambda store: need)
    check_room(store, **SIZES, shards=shards)
    monkeypatch.setattr(Store, "free_bytes", lambda store: need - 1)
    with pytest.raises(InputError, match=r"are free there and about .* or lower --k$"):
        check_room(store, **SIZES, shards=shards)


def test_more_sentences_than_there_are_need_no_room() -> None:
    few, many = (needed_bytes(100, k, 1, 0, Shards(50, 50), False, NO_DATASETS) for k in (50, 1_000))
    assert few == many


def test_a_gpu_too_small_for_the_winners_is_refused_by_what_helps() -> None:
    neurons, k = 36_864, 10_000
    needed = 8 * neurons * 2 * 15_000
    assert device_rooms(needed, neurons, k, 2) == (3_750, None)  # a quarter of it; a reducer takes 15,000 at least
    with pytest.raises(InputError, match=r"--k 10000: the winners so far of 36,864 neurons take 8.8 GB .*--poles top"):
        device_rooms(needed - 1, neurons, k, 2)
    with pytest.raises(InputError, match=r"lower --k, or score on CPUs"):
        device_rooms(1, neurons, k, 1)
    assert device_rooms(1 << 40, neurons, k, 2) == (k + MOST_BEYOND, None)


SIX = Datasets(1_000, tuple("abcdef"), (20_000,) * 6, tuple((i * 20_000, (i + 1) * 20_000, i) for i in range(6)))


def test_winners_within_data_sets_are_counted_and_named() -> None:
    neurons, k = 9_216, 100
    own, all_of_them = state_bytes(neurons, k, 2), state_bytes(neurons, k, 2, SIX)
    assert all_of_them - own == 8 * neurons * 2 * 6 * 1_500
    device_rooms(all_of_them, neurons, k, 2, SIX)
    with pytest.raises(
        InputError, match=r"^--k-per-dataset 1000: the winners .* lower --k-per-dataset, or keep one pole"
    ):
        device_rooms(all_of_them - 1, neurons, k, 2, SIX)
    with pytest.raises(InputError, match=r"^--k 10000: .* lower --k, or keep one pole"):
        device_rooms(1, neurons, 10_000, 2, SIX)
    assert device_rooms(1 << 40, neurons, k, 2, SIX)[1] == 1_000 + MOST_BEYOND
    assert device_rooms(80 << 30, neurons, k, 2, SIX)[1] == (10 << 30) // (8 * neurons * 2 * 6)


def test_partial_files_of_data_sets_need_room_and_the_larger_part_is_to_be_lowered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards, store = Shards(120_000, 5_000), Store(str(tmp_path))
    plain, more = (needed_bytes(100, 10, 2, 0, shards, False, own)[1] for own in (NO_DATASETS, SIX))
    assert more > 10 * plain
    monkeypatch.setattr(Store, "free_bytes", lambda store: more)
    check_room(store, 100, 10, 2, 0, shards, False, SIX)
    monkeypatch.setattr(Store, "free_bytes", lambda store: more - 1)
    with pytest.raises(InputError, match=r"or lower --k-per-dataset$"):
        check_room(store, 100, 10, 2, 0, shards, False, SIX)
    with pytest.raises(InputError, match=r"or lower --k$"):
        check_room(store, 100, 50_000, 2, 0, shards, False, SIX)
    with pytest.raises(InputError, match=r"^--k-per-dataset 2097152: .* lower --k-per-dataset or --shard-size"):
        check_room(store, 256, 10, 2, 0, Shards(6 << 21, 6 << 21), False, replace(SIX, sizes=(1 << 21,) * 6, k=1 << 21))
    monkeypatch.setattr(Store, "free_bytes", lambda store: None)
    check_room(store, 1 << 20, 10_000, 1, 0, Shards(1_000_000, 100_000), True, NO_DATASETS)
