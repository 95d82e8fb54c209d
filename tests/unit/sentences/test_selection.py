from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ops.schema import schema
from ops.sentences.selection import IN_BASELINE, SELECTED, WINNER, mark_sentences, most_wins, with_winners
from ops.shards import Shards
from ops.storage.store import Store
from ops.storage.tables import write_part

N, NEURONS, K = 500, 300, 4


def write_winners(store: Store, lost: list[int], seed: int = 0) -> tuple[Counter[int], list[int]]:
    """Write winners of both poles in two parts, some sentences far oftener than others; return them, and the sample."""
    rng = np.random.default_rng(seed)
    found: Counter[int] = Counter()
    scored = np.setdiff1d(np.arange(N), lost)
    chance = 1 / (1 + np.arange(len(scored)))
    for part, units in enumerate((range(200), range(200, NEURONS))):
        rows = []
        for unit in units:
            for pole in ("bottom", "top"):
                own = rng.choice(scored, K, replace=False, p=chance / chance.sum()).tolist()
                found.update(own)
                rows += [(1, unit, pole, rank, 0.0, sent_id) for rank, sent_id in enumerate(own, 1)]
        table = pa.table([pa.array(c) for c in zip(*rows, strict=True)], names=schema("topk").names)
        write_part(store, "topk", part, schema("topk"), [table.slice(0, 8), table.slice(8)], "f")
    sample = rng.choice(N, 20, replace=False)
    layout = pa.schema([pa.field("sent_id", pa.int64(), False)])
    write_part(store, "activations", 0, layout, [pa.table([pa.array(np.sort(sample))], schema=layout)], "f")
    unscored = pa.table({"sent_id": pa.array(lost, pa.int64()), "reason": pa.array(["x"] * len(lost), pa.string())})
    write_part(store, "unscored", 0, schema("unscored"), [unscored], "f")
    return found, sample.tolist()


@pytest.mark.parametrize(("whole", "size"), [(False, 60), (False, 0), (False, None), (True, 60)])
def test_what_each_sentence_wins_and_is_annotated_as(tmp_path: Path, whole: bool, size: int | None) -> None:
    store, lost = Store(str(tmp_path)), [3, 499]
    wins, sample = write_winners(store, lost)
    assert max(wins.values()) > 255, "a byte would hold them all"
    marks, counted = mark_sentences(store, Shards(N, 100), whole, size, 0)
    assert counted.dtype == np.int32
    assert counted.tolist() == [wins[i] for i in range(N)]
    assert counted.sum() == NEURONS * 2 * K
    assert np.flatnonzero(marks & WINNER).tolist() == sorted(wins)
    baseline = np.flatnonzero(marks & IN_BASELINE).tolist()
    assert len(baseline) == (N - len(lost) if whole or size is None else size)
    assert not set(baseline) & set(lost)
    selected = set(np.flatnonzero(marks & SELECTED).tolist())
    assert selected == (set(range(N)) if whole else {*wins, *sample, *baseline})


def test_winners_within_data_sets_are_annotated_and_win_nothing(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    wins, _ = write_winners(store, [3])
    before, wins_before = mark_sentences(store, Shards(N, 100), False, 60, 0, by_dataset=False)
    layout, ids = schema("topk_by_dataset"), [7, 400, 401, max(wins)]
    values = (1, 0, "top", "", 1, 0.5)
    rows = pa.table([pa.array([v] * len(ids)) for v in values] + [pa.array(ids)], names=layout.names)
    write_part(store, "topk_by_dataset", 0, layout, [rows], "f")
    marks, counted = mark_sentences(store, Shards(N, 100), False, 60, 0, by_dataset=True)
    assert counted.tolist() == wins_before.tolist()
    assert np.array_equal(marks & (IN_BASELINE | WINNER), before & (IN_BASELINE | WINNER))
    selected, of_before = (set(np.flatnonzero(own & SELECTED).tolist()) for own in (marks, before))
    assert selected == of_before | set(ids)
    assert mark_sentences(store, Shards(N, 100), False, 60, 0)[0].tolist() == before.tolist()


def test_a_feature_that_is_never_active_has_no_winners() -> None:
    neurons = pa.table({"top_threshold": [0.5, None, 2.0], "bottom_threshold": pa.array([None] * 3, pa.float32())})
    assert with_winners(neurons) == 2


def test_a_hub_wins_far_more_than_by_chance() -> None:
    assert most_wins(100, 20_000, 4_608) == pytest.approx(0.05 * 4_608)
    assert most_wins(10, 20_000, 4_608) == pytest.approx(0.02 * 4_608)
    assert most_wins(10, 0, 4_608) > 4_608
