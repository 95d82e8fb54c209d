import numpy as np
import pyarrow as pa

from ops.meaning.drawn_sentences import MASKED, PAIR, TRANSLATION, Wanted, choose_sentences, draw_from_shard
from ops.sampling import MASKED_SENTENCES, draw

SIZE, DOCUMENT = 240, 6  # sentences of the corpus, and of a document
WANTED = Wanted(20, 30, 7, "language", None, SIZE, 0)


def shard(first: int, stop: int) -> pa.Table:
    """Sentences of a made-up corpus whose second half translates the first."""
    ids = np.arange(first, stop)
    half = SIZE // 2
    return pa.table(
        {
            "sent_id": ids,
            "text": [f"s{i}" for i in ids],
            "dataset": ["en" if i < half else "xx" for i in ids],
            "doc_id": [f"d{i % half // DOCUMENT}" for i in ids],
            "sent_in_doc": pa.array([i % DOCUMENT for i in ids], pa.int32()),
            "meta": [{"language": "en" if i < half else "xx", "key": f"k{i % half}"} for i in ids],
        }
    )


def chosen(size: int, wanted: Wanted = WANTED) -> pa.Table:
    return choose_sentences(
        (draw_from_shard(shard(i, min(i + size, SIZE)), wanted) for i in range(0, SIZE, size)), wanted
    )


def of_kind(table: pa.Table, kind: str) -> list[dict[str, object]]:
    return [row for row in table.to_pylist() if row["kind"] == kind]


def test_pairs_are_neighbours_with_a_distant_one_of_their_document_and_one_of_another() -> None:
    pairs = of_kind(chosen(60), PAIR)
    assert len(pairs) == WANTED.pairs
    assert [row["order"] for row in pairs] == sorted(row["order"] for row in pairs)
    for row in pairs:
        first, after, same, other = (int(text[1:]) for text in row["texts"])
        assert (row["sent_id"], first + 1) == (first, after)
        assert first // DOCUMENT == after // DOCUMENT == same // DOCUMENT != other // DOCUMENT
        assert abs(first - same) >= 3


def test_what_a_document_lacks_is_null() -> None:
    short = shard(0, SIZE).drop_columns(["meta"])
    short = short.set_column(4, "sent_in_doc", pa.array(np.arange(SIZE) % 3, pa.int32()))
    short = short.set_column(3, "doc_id", pa.array([f"d{i // 3}" for i in range(SIZE)]))
    wanted = Wanted(9, 0, 0, None, None, SIZE, 0)
    rows = choose_sentences([draw_from_shard(short, wanted)], wanted).to_pylist()
    assert [row["texts"][2] for row in rows] == [None] * 9, "no sentence is distant"
    assert all(row["texts"][3] for row in rows)
    wanted = Wanted(3, 0, 0, None, None, DOCUMENT, 0)
    table = choose_sentences([draw_from_shard(shard(0, DOCUMENT).drop_columns(["meta"]), wanted)], wanted)
    assert [row["texts"][3] for row in table.to_pylist()] == [None] * 3, "there is no other document"


def test_masked_sentences_are_the_uniform_sample_however_the_corpus_is_cut() -> None:
    drawn = draw(SIZE, WANTED.masked, 0, MASKED_SENTENCES).tolist()
    for size in (60, 48, 240):
        rows = of_kind(chosen(size), MASKED)
        assert [row["sent_id"] for row in rows] == drawn
        assert [row["texts"] for row in rows] == [[f"s{i}"] for i in drawn]


def test_all_shards_choose_translations_of_the_same_keys() -> None:
    for wanted in (WANTED, Wanted(20, 30, 7, "language", "key", SIZE, 0)):
        rows = of_kind(chosen(60, wanted), TRANSLATION)
        assert len(rows) == 2 * wanted.translations
        languages: dict[object, list[object]] = {}
        for row in rows:
            languages.setdefault(row["key"], []).append(row["language"])
            assert row["document"] == f"{row['language']}\x1fd{int(row['texts'][0][1:]) % (SIZE // 2) // DOCUMENT}"
        assert list(languages.values()) == [["en", "xx"]] * wanted.translations
        assert rows == of_kind(chosen(240, wanted), TRANSLATION)
    assert of_kind(chosen(60, Wanted(20, 30, 7, None, None, SIZE, 0)), TRANSLATION) == []


def test_translations_are_the_first_of_each_language_without_sentences_that_have_none() -> None:
    table = shard(0, 6)
    meta = [("en", "k"), ("en", "k"), ("xx", "k"), ("xx", "k"), ("en", "alone"), ("en", "alone")]
    table = table.set_column(5, "meta", pa.array([{"language": language, "key": key} for language, key in meta]))
    wanted = Wanted(0, 0, 7, "language", "key", 6, 0)
    rows = of_kind(choose_sentences([draw_from_shard(table, wanted)], wanted), TRANSLATION)
    assert [row["sent_id"] for row in rows] == [0, 2]
