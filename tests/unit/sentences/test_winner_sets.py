from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from ops import schema
from ops.sentences.winner_sets import read_winner_sets, winner_rows
from ops.storage.store import Store
from ops.storage.tables import write_part
from ops.topk.neurons import Neurons

WINNERS = {(1, 0, "bottom"): [4, 9, 2], (1, 1, "bottom"): [7], (1, 1, "top"): [9, 0], (2, 0, "top"): [3, 1]}


def test_winners_are_sets_of_rows_by_rank_or_by_row(tmp_path: Path) -> None:
    rows = [
        {"layer": layer, "unit": unit, "pole": pole, "rank": rank, "activation": 0.0, "sent_id": 100 + row}
        for (layer, unit, pole), winners in WINNERS.items()
        for rank, row in enumerate(winners, 1)
    ]
    store, sentences = Store(str(tmp_path)), cast(Any, SimpleNamespace(rows=lambda ids: ids - 100))
    write_part(store, "topk", 0, schema.schema("topk"), [schema.table("topk", rows)], "f")
    neurons = Neurons((2, 1))
    found = read_winner_sets(store, neurons, sentences, np.array([1, 2]))
    assert {number: own.tolist() for number, own in found.each()} == {2: [7], 3: [9, 0], 5: [3, 1]}
    assert found.set_of.tolist() == [0, 1, 1, 2, 2]
    assert {number: own.tolist() for number, own in found.by_row().each()} == {2: [7], 3: [0, 9], 5: [1, 3]}
    assert list(read_winner_sets(store, Neurons((2, 2)), sentences, np.array([3])).each()) == []
    ((numbers, every),) = winner_rows(store, neurons, sentences)
    assert numbers.tolist() == [0, 0, 0, 2, 3, 3, 5, 5]
    assert every.tolist() == [row for winners in WINNERS.values() for row in winners]
