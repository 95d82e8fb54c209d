"""Pieces: each selected sentence is in one, of its own shard, and none is large."""

import numpy as np

from ops.shards import Shards
from ops.tokens.pieces import PER_PIECE, pieces


def test_every_selected_sentence_is_in_one_piece() -> None:
    ids = np.sort(np.random.default_rng(0).choice(5_000, 3_000, replace=False))
    ids = ids[(ids < 1_400) | (ids >= 2_100)]  # one shard of 700 has none
    for size in (700, 2_000, 100_000):
        found = pieces(ids, Shards(5_000, size))
        assert [item["piece"] for item in found] == list(range(len(found)))
        of_pieces = [ids[(ids >= item["first"]) & (ids <= item["last"])] for item in found]
        assert np.concatenate(of_pieces).tolist() == ids.tolist()
        assert [len(own) for own in of_pieces] == [item["sentences"] for item in found]
        assert max(map(len, of_pieces)) <= PER_PIECE
        for item, own in zip(found, of_pieces, strict=True):
            assert set(own // size) == {item["shard"]}
    found = pieces(np.arange(PER_PIECE + 1), Shards(5_000, 2_000))
    assert [item["sentences"] for item in found] == [PER_PIECE // 2 + 1, PER_PIECE // 2], "pieces of a shard are alike"
    assert pieces(np.empty(0, np.int64), Shards(5_000, 2_000)) == []
