"""Winners as they are read for other formats, next to the rows of token_activations/ themselves."""

import numpy as np
import pytest

from ops.export.winners import NEGATIVES, SIGN
from tests.unit.export.small_tables import LOSER, TEXTS, WIDTHS, WINS, SmallTables


def test_a_side_has_the_units_of_a_layer_and_how_many_winners_each_has(tables: SmallTables) -> None:
    sides = tables.reader().sides
    assert [(side.layer, side.pole, side.width) for side in sides] == [
        (layer, pole, width) for layer, width in WIDTHS.items() for pole in SIGN
    ]
    for side in sides:
        assert side.units.tolist() == list(range(side.width))
        assert {u for u, n in zip(side.units.tolist(), side.n_winners.tolist(), strict=True) if n} == {
            *WINS[side.layer]
        }
    chosen = tables.reader(units=("3:255", "3:7", "3:8")).sides
    assert [(side.layer, side.units.tolist(), side.n_winners.tolist()) for side in chosen] == [
        (3, [7, 8, 255], [3, 0, 3])
    ] * 2


@pytest.mark.parametrize(("added", "first"), [(True, True), (False, True), (False, False)])
def test_winners_are_the_rows_of_the_table(tables: SmallTables, added: bool, first: bool) -> None:
    reader = tables.reader(added, first)
    seen = 0
    for side in reader.sides:
        for start, stop in ((0, 256), (256, 300)):
            own = [
                row
                for row in tables.rows
                if (row["layer"], row["pole"]) == (side.layer, side.pole) and start <= row["unit"] < stop
            ]
            found = reader.read(side, start, stop)
            seen += len(own)
            assert found.unit.tolist() == [row["unit"] for row in own]
            assert found.rank.tolist() == [row["rank"] for row in own]
            assert found.sent_id.tolist() == [row["sent_id"] for row in own]
            assert found.tokens.to_pylist() == [token for row in own for token in row["tokens"]]
            assert found.row.tolist() == [i for i, row in enumerate(own) for _ in row["tokens"]]
            assert found.place.tolist() == [i for row in own for i in range(len(row["tokens"]))]
            sign = {"top": 1, "bottom": -1}[side.pole]
            heights = np.array([sign * a for row in own for a in row["activations"]], np.float32)
            np.testing.assert_array_equal(found.heights, heights)
            # [CLS] and [SEP] are what the tokenizer of BERT adds.
            counts = [
                (added or token not in ("[CLS]", "[SEP]")) and (first or place > 0)
                for row in own
                for place, token in enumerate(row["tokens"])
            ]
            assert found.counts.tolist() == counts
    assert seen == len(tables.rows)


def test_units_that_were_not_chosen_are_not_read(tables: SmallTables) -> None:
    reader = tables.reader(units=("3:7", "3:299"))
    [side, _] = reader.sides
    assert np.unique(reader.read(side, 0, 300).unit).tolist() == [7, 299]
    own = {row["sent_id"] for row in tables.rows if row["layer"] == 3 and row["unit"] in (7, 299)}
    assert reader.sentences().tolist() == sorted(own)


def test_sentences_and_their_texts_are_those_of_winners_and_of_hard_negatives(tables: SmallTables) -> None:
    found = tables.reader().sentences()
    assert found.tolist() == [i for i in range(len(TEXTS)) if i != LOSER]
    assert tables.reader().texts(found) == {i: text for i, text in enumerate(TEXTS) if i != LOSER}
    reader = tables.reader(negatives=True)
    for side in reader.sides:
        own = [row for row in tables.negatives if (row["layer"], row["pole"]) == (side.layer, side.pole)]
        found = reader.read(side, 0, 300, NEGATIVES)
        assert found.sent_id.tolist() == [row["sent_id"] for row in own]
        heights = np.array([SIGN[side.pole] * a for row in own for a in row["activations"]], np.float32)
        np.testing.assert_array_equal(found.heights, heights)
    assert reader.sentences().tolist() == list(range(len(TEXTS)))
    assert LOSER not in tables.reader(negatives=True, units=("3:299",)).sentences()


@pytest.mark.parametrize(("added", "first", "less"), [(True, True, 0), (False, True, 2), (False, False, 2)])
def test_tokens_that_count_are_those_of_all_sentences(tables: SmallTables, added: bool, first: bool, less: int) -> None:
    """Without the first one nothing more is lost here: it is [CLS], which does not count already."""
    n = sum(len(p.strings) for p in tables.tokenizer.encode_with_spans(list(TEXTS)))
    assert tables.reader(added, first).tokens_that_count() == n - less * len(TEXTS)
