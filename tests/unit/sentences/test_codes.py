import pyarrow as pa
import pytest

from ops.errors import InputError
from ops.schema import schema
from ops.sentences.codes import NAME_KINDS, coded_table, vocabulary, vocabulary_columns
from tests.unit.small_corpus import Sentence, to_table

SENTENCES = [
    Sentence(
        ["I", "sleep", "."], ["PRP", "VBP", "."], "(ROOT (S (NP (PRP I)) (VP (VBP sleep)) (. .)))", meta={"a": "b"}
    ),
    Sentence(["Grüße", "😀"], ["NN", "NFP"], None, dataset="ü", doc_id="", baseline=False, winner=True),
    Sentence([], None, None, doc_id="d2"),
    Sentence(["sleep", "sleep"], None, None),
]


def test_rows_of_the_sentence_table() -> None:
    table = to_table(SENTENCES)
    assert table.schema.equals(schema("sentences", ["a"]))
    assert to_table(SENTENCES[1:]).schema.equals(schema("sentences"))
    rows = table.to_pylist()
    assert [r["words"] for r in rows] == [s.words for s in SENTENCES]
    assert [r["tags"] for r in rows] == [s.tags for s in SENTENCES]
    assert [r["tree"] for r in rows] == [s.tree for s in SENTENCES]
    assert [(r["is_baseline"], r["is_winner"]) for r in rows] == [(s.baseline, s.winner) for s in SENTENCES]
    assert [r["sent_id"] for r in rows] == [0, 2, 4, 6]


@pytest.mark.parametrize("chunked", [False, True])
def test_codes_stand_for_what_was_annotated(chunked: bool) -> None:
    table = to_table(SENTENCES)
    if chunked:
        table = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    coded = coded_table(table)
    assert coded["meta"].type == table["meta"].type
    rows = coded.to_pylist()
    assert [r["words"] for r in rows] == [s.words for s in SENTENCES]
    assert [r["tags"] for r in rows] == [s.tags or [] for s in SENTENCES]
    assert rows[0]["labels"] == ["ROOT", "S", "NP", "PRP", "VP", "VBP"]
    assert rows[0]["sizes"] == [6, 5, 2, 1, 2, 1]
    assert rows[1]["labels"] == rows[1]["sizes"] == []
    assert [row["meta"] for row in rows] == [{"a": "b"}, *[{"a": None}] * 3]


def test_a_slice_of_the_sentences_is_coded_as_well() -> None:
    rows = coded_table(to_table(SENTENCES).slice(1, 2)).to_pylist()
    assert [r["words"] for r in rows] == [["Grüße", "😀"], []]
    assert coded_table(to_table(SENTENCES).slice(0, 0)).num_rows == 0


def test_a_tree_that_is_none_is_an_error() -> None:
    with pytest.raises(InputError, match="brackets are left open"):
        coded_table(to_table([Sentence(["a"], ["DT"], "(ROOT (DT a)")]))


def test_the_vocabulary_is_sorted_and_the_same_for_any_split() -> None:
    one = [coded_table(to_table(SENTENCES))]
    many = [coded_table(to_table([s])) for s in reversed(SENTENCES)]
    found = vocabulary(t.select(vocabulary_columns()) for t in one)
    assert found.equals(vocabulary(many))
    names = {kind: [r["name"] for r in found.to_pylist() if r["kind"] == kind] for kind in NAME_KINDS}
    assert names["word"] == [".", "Grüße", "I", "sleep", "😀"]
    assert names["tag"] == [".", "NFP", "NN", "PRP", "VBP"]
    assert names["label"] == ["NP", "PRP", "ROOT", "S", "VBP", "VP"]
    assert names["dataset"] == ["docs", "ü"]
    assert names["document"] == sorted({s.document for s in SENTENCES})
    assert vocabulary([]).num_rows == 0
