"""Whether there is room: what would be refused, named."""

from pathlib import Path

import pytest

from ops.errors import InputError
from ops.shards import Shards
from ops.storage.store import Store
from ops.topk.room import check_room, needed_bytes

SIZES = {"neurons": 100, "k": 10, "poles": 2, "sample": 5}


def test_no_room_is_refused_and_just_enough_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shards, store = Shards(1_000, 100), Store(str(tmp_path))
    need = needed_bytes(**SIZES, shards=shards)
    monkeypatch.setattr(Store, "free_bytes", lambda store: need)
    check_room(store, **SIZES, shards=shards)
    monkeypatch.setattr(Store, "free_bytes", lambda store: need - 1)
    with pytest.raises(InputError, match="are free there and about"):
        check_room(store, **SIZES, shards=shards)


def test_more_sentences_than_there_are_need_no_room() -> None:
    few, many = (needed_bytes(100, k, 1, 0, Shards(50, 50)) for k in (50, 1_000))
    assert few == many
