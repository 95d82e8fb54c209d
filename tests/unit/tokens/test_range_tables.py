"""Pieces that are read and measured apart become the same tables by neuron as one piece of all sentences."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ops.model.activations import ScoreOptions, Scorer
from ops.model.load import read_facts
from ops.model.tokenizer import Tokenizer
from ops.schema import schema
from ops.storage.store import Store
from ops.storage.tables import write_part
from ops.tokens.pieces import measure_piece, read_piece, write_rows
from ops.tokens.range_tables import range_tables
from ops.tokens.winners import SCHEMA
from ops.topk.neurons import Neurons

TEXTS = [
    "The old cat sat.",
    "A man!",
    "Nobody wins with this one.",
    "It rained and rained.",
    "It only looks like a winner.",
]
WINNING, NEGATIVE = (0, 1, 3), 4
TABLES = ("peaks", "token_activations", "negative_tokens")


def test_pieces_become_the_tables_of_a_range(tmp_path: Path, make_model: Callable[..., Path], small_bert: Any) -> None:
    store, facts = Store(str(tmp_path)), read_facts(str(make_model(small_bert)))
    scorer, tokenizer, n = Scorer(facts, ScoreOptions()), Tokenizer(facts), len(TEXTS)
    columns = {
        "sent_id": range(n), "text": TEXTS, "dataset": ["d"] * n, "doc_id": ["d"] * n,
        "words": [text.split() for text in TEXTS], "tags": [None] * n, "tree": [None] * n,
        "is_baseline": [True] * n, "is_winner": [True] * n, "fold": [0] * n, "wins": [1] * n,
    }  # fmt: skip
    write_part(store, "sentences", 0, schema("sentences"), [pa.table(columns).cast(schema("sentences"))], "f")
    rows = [(i, number, i == NEGATIVE, 1 + i, 0.0) for i in (*WINNING, NEGATIVE) for number in (0, 5, 40, 47)]
    wanted = pa.table([pa.array(c) for c in zip(*rows, strict=True)], names=SCHEMA.names).cast(SCHEMA)
    store.commit("wanted.parquet", lambda path: pq.write_table(wanted, path))

    neurons, spans = Neurons(scorer.widths()), {"all": (0, 4), "first": (0, 1), "rest": (2, 4)}
    read = {}
    for name, (first, last) in spans.items():
        piece = read_piece(store, "wanted.parquet", {"shard": 0, "first": first, "last": last}, tokenizer)
        assert piece.sentences["sent_id"].to_pylist() == [i for i in (*WINNING, NEGATIVE) if first <= i <= last]
        table, read[name] = measure_piece(scorer, piece, neurons, 64, "mixed")
        store.commit(name, lambda path, table=table: write_rows(table, path))  # type: ignore[misc]
    for count in ("sentences", "winners", "negatives", "tokens"):
        assert read["all"][count] == read["first"][count] + read["rest"][count]
    assert (read["all"]["winners"], read["all"]["negatives"], read["all"]["activations_differ"]) == (12, 4, len(rows))

    for first, stop, sets in ((0, 12, 2), (0, 24, 4)):
        whole = range_tables(store, ["all"], neurons, first, stop, TABLES)
        apart = range_tables(store, ["first", "rest"], neurons, first, stop, TABLES)
        found = {}
        for name, groups in apart.items():
            table, other = pa.concat_tables(groups), pa.concat_tables(whole[name])
            assert table.schema.names == schema(name).names
            for column in set(table.column_names) - {"activations"}:
                assert table[column].equals(other[column])
            found[name] = table
        assert found["token_activations"]["sent_id"].to_pylist() == list(WINNING) * sets
        assert found["negative_tokens"]["sent_id"].to_pylist() == [NEGATIVE] * sets
        assert set(found["peaks"]["n"].to_pylist()) == {len(WINNING)}
        assert np.all(np.diff(found["token_activations"]["layer"].to_numpy()) >= 0)
