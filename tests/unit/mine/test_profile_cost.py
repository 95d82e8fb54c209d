"""What profiles cost grows with the number of metadata keys, and no faster."""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from ops.mine import profile_rows as profiles
from ops.mine.baseline_counts import baseline_table, read_baselines
from ops.mine.properties import Profiler
from ops.mine.representation import strongest_values
from ops.mine.sentence_sets import SentenceSets
from ops.mine.value_counts import count_in_sets
from ops.patterns.sequences import Sequences
from ops.sentences.mining_view import MiningView
from tests.unit.small_corpus import Sentence, open_corpus

SENTENCES = 40


def work(folder: Path, keys: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int, int]:
    """Return the function calls, Python's and C's, the values that are counted, and the rows of the profiles."""
    sentences = [
        Sentence(["word"], meta={f"key {key:03d}": f"{(i * key) % 3}" for key in range(keys)}) for i in range(SENTENCES)
    ]
    store = open_corpus(folder, monkeypatch, sentences)
    profiler = Profiler(MiningView(store))
    rows, winners = np.arange(SENTENCES), [list(range(20)), list(range(10, 30))]
    sets = SentenceSets.gather(np.array([0, 1]), Sequences.from_lists(winners), store)
    calls = counted = 0

    def seen(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    def counting(values: Sequences, *rest: Any) -> Any:
        nonlocal counted
        counted += len(values.items)
        return count_in_sets(values, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(profiles, "count_in_sets", counting)
        before = sys.getprofile()
        sys.setprofile(seen)
        try:
            baseline, _ = read_baselines(baseline_table({}, profiler, (rows[::2], rows[1::2])), profiler)
            _, table = profiles.profile_rows(profiler, baseline, sets, 1)
            strongest_values(profiler, baseline, sets, 1)
        finally:
            sys.setprofile(before)
    return calls, counted, table.num_rows


def test_each_key_costs_the_same_however_many_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work(tmp_path / "warm", 1, monkeypatch)
    few, some, many = (np.array(work(tmp_path / str(keys), keys, monkeypatch)) for keys in (20, 60, 140))
    # Adding twice as many keys adds twice as much work; a quadratic term would add more.
    np.testing.assert_allclose(many - some, 2 * (some - few), rtol=0.05)
    assert (some > few).all()
