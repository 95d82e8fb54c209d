import hashlib

import pyarrow as pa
import pytest

from ops.errors import InputError
from ops.schema import schema
from ops.sentences.codes import coded, names_of
from tests.unit.small_corpus import Sentence, to_table

SENTENCES = [
    Sentence(
        ["I", "sleep", "."], ["PRP", "VBP", "."], "(ROOT (S (NP (PRP I)) (VP (VBP sleep)) (. .)))", meta={"a": "b"}
    ),
    Sentence(["Grüße", "😀"], ["NN", "NFP"], None, dataset="ü", doc_id="", baseline=False, wins=3),
    Sentence([], None, None, doc_id="d2"),
    Sentence(["sleep", "sleep"], None, None),
]


def test_codes_stand_for_what_was_annotated() -> None:
    table = to_table(SENTENCES)
    assert table.schema.equals(schema("sentences", ["a"]))
    assert to_table(SENTENCES[1:]).schema.equals(schema("sentences"))
    codes, names = coded(table)
    chunked = coded(pa.concat_tables([table.slice(0, 1), table.slice(1)]))
    assert all(one.equals(other) for one, other in zip(chunked, (codes, names), strict=True))
    rows = codes.to_pylist()
    word, tag, label, dataset, key = (
        names_of(names, k).to_pylist() for k in ("word", "tag", "label", "dataset", "meta:a")
    )
    for own in (word, tag, label, dataset, key):
        assert own == sorted(set(own))
    assert [[word[c] for c in r["words"]] for r in rows] == [s.words for s in SENTENCES]
    assert [[tag[c] for c in r["tags"]] for r in rows] == [s.tags or [] for s in SENTENCES]
    assert [label[c] for c in rows[0]["labels"]] == ["ROOT", "S", "NP", "PRP", "VP", "VBP"]
    assert rows[0]["sizes"] == [6, 5, 2, 1, 2, 1]
    assert rows[1]["labels"] == rows[1]["sizes"] == []
    assert [dataset[r["dataset"]] for r in rows] == [s.dataset for s in SENTENCES]
    assert [r["meta:a"] for r in rows] == [0, None, None, None]
    assert key == ["b"]
    assert names["kind"].unique().to_pylist() == ["word", "tag", "label", "dataset", "meta:a"]


def test_a_document_s_code_depends_on_nothing_but_its_name() -> None:
    whole = coded(to_table(SENTENCES))[0]["document"].to_pylist()
    assert whole == [coded(to_table([s]))[0]["document"][0].as_py() for s in SENTENCES]
    digest = hashlib.blake2b(b"docs\x1fd2", digest_size=8).digest()
    assert whole[2] == int.from_bytes(digest, "little", signed=True)
    assert whole[0] == whole[3]
    assert len(set(whole)) == 3
    other = [Sentence(["a"], dataset="b", doc_id="d"), Sentence(["a"], dataset="c", doc_id="d")]
    assert len(set(coded(to_table(other))[0]["document"].to_pylist())) == 2


def test_a_slice_of_the_sentences_is_coded_as_well_and_a_tree_that_is_none_is_an_error() -> None:
    codes, names = coded(to_table(SENTENCES).slice(1, 2))
    word = names_of(names, "word").to_pylist()
    assert [[word[c] for c in r] for r in codes["words"].to_pylist()] == [["Grüße", "😀"], []]
    codes, names = coded(to_table(SENTENCES).slice(0, 0))
    assert codes.num_rows == names.num_rows == 0
    with pytest.raises(InputError, match="brackets are left open"):
        coded(to_table([Sentence(["a"], ["DT"], "(ROOT (DT a)")]))
