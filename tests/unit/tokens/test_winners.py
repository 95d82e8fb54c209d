"""The first winners by sentence, and their places."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
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


def test_hard_negatives_are_read_with_the_winners_and_sentences_of_the_range_are_not(store: Store) -> None:
    rows = [
        {"layer": 1, "unit": 1, "pole": None, "quantile": 3, "rank": None, "sent_id": 2, "activation": 0.5},
        {"layer": 1, "unit": 1, "pole": "bottom", "quantile": None, "rank": 1, "sent_id": 40, "activation": 0.25},
        {"layer": 2, "unit": 2, "pole": "top", "quantile": None, "rank": 2, "sent_id": 30, "activation": 0.125},
    ]
    examples = schema("examples")
    table = pa.table({name: [row.get(name, 0) for row in rows] for name in examples.names}, examples)
    write_part(store, "examples", 0, examples, [table], "f")
    winners, both = first_winners(store, NEURONS, 3), first_winners(store, NEURONS, 3, negatives=True)
    assert both.filter(pc.invert(both["is_negative"])).equals(winners)
    assert both.filter(both["is_negative"]).to_pylist() == [
        {"sent_id": 30, "set": 8 + POLES.index("top"), "is_negative": True, "rank": 2, "activation": 0.125},
        {"sent_id": 40, "set": 2 + POLES.index("bottom"), "is_negative": True, "rank": 1, "activation": 0.25},
    ]
    assert both["sent_id"].to_pylist() == sorted(both["sent_id"].to_pylist())


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
        with pytest.raises(RuntimeError, match=f"sentence {ids[place]} is to be read"):
            place_winners(wanted, np.delete(ids, place), NEURONS)
