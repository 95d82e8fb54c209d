"""The first winners by sentence, and their places."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from ops.schema import schema
from ops.storage.store import Store
from ops.storage.tables import write_part
from ops.tokens.winners import first_winners, place_winners
from ops.topk.neurons import POLES, Neurons

NEURONS = Neurons((2, 3))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Five neurons' topk/ in two parts, four winners each pole."""
    store, rng = Store(str(tmp_path)), np.random.default_rng(0)
    for part, own in enumerate(([(1, 0), (1, 1), (2, 0)], [(2, 1), (2, 2)])):
        rows = [
            (layer, unit, pole, rank, float(rng.normal()), int(sent_id))
            for layer, unit in own
            for pole in POLES
            for rank, sent_id in enumerate(rng.permutation(9)[:4], 1)
        ]
        table = pa.table([pa.array(c) for c in zip(*rows, strict=True)], names=schema("topk").names)
        write_part(store, "topk", part, schema("topk"), [table], "f")
    return store


def test_the_first_of_each_set_are_sorted_by_sentence(store: Store) -> None:
    found = first_winners(store, NEURONS, 3).to_pylist()
    assert len(found) == 5 * 2 * 3
    assert found == sorted(found, key=lambda row: (row["sent_id"], row["set"]))
    assert {row["rank"] for row in found} == {1, 2, 3}
    assert sorted({row["set"] for row in found}) == list(range(10))
    assert len(first_winners(store, NEURONS, 99)) == 5 * 2 * 4


def test_winners_know_their_neuron_and_their_sentence_s_place(store: Store) -> None:
    wanted = first_winners(store, NEURONS, 4)
    ids = np.unique(wanted["sent_id"].to_numpy())
    found = place_winners(wanted, ids, NEURONS)
    assert (ids[found.sentence] == wanted["sent_id"].to_numpy()).all()
    expected = [(1, 0), (1, 1), (2, 0), (2, 1), (2, 2)]
    for i, row in enumerate(wanted.to_pylist()):
        assert (found.layer[i], found.unit[i]) == expected[row["set"] // 2]
        assert found.sign[i] == (1 if row["set"] % 2 == POLES.index("top") else -1)
    for place in (2, len(ids) - 1):
        with pytest.raises(RuntimeError, match=f"sentence {ids[place]} is among the winners"):
            place_winners(wanted, np.delete(ids, place), NEURONS)
