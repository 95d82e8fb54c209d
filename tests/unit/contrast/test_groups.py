import numpy as np
import pyarrow as pa
import pytest

from ops.contrast.groups import (
    Contrast,
    contrast_of_conditions,
    contrast_of_texts,
    contrasts_by_key,
    parse_condition,
)
from ops.errors import InputError
from tests.unit.contrast.small import sentences

MOOD = ["glad", "sad", "calm"]


def moods(n: int = 400, rare: int = 10) -> pa.Table:
    random = np.random.default_rng(3)
    values: list[str | None] = [MOOD[i] for i in random.integers(0, 2, n)]
    values[:rare] = ["calm"] * rare
    values[-50:] = [None] * 50
    return sentences(n, mood=values)


def test_each_value_is_contrasted_with_the_other_values_of_its_key() -> None:
    table = moods()
    found, notes = contrasts_by_key(table, "mood", 0)
    values = [row["mood"] for row in table["meta"].to_pylist()]
    assert {one.group for one in found} == {"mood=glad", "mood=sad"}
    for one in found:
        assert one.rows.tolist() == list(range(350)), "sentences without the key are left out, rare values are not"
        assert [values[i] == one.group.partition("=")[2] for i in one.rows] == one.is_a.tolist()
    assert notes == ["--by mood: 1 value left out, too rare or after the first 20"]


def test_a_contrast_knows_documents_and_data_sets() -> None:
    table = moods()
    (one, *_), _ = contrasts_by_key(table, "mood", 0)
    own = table.take(pa.array(one.rows)).to_pylist()
    names = {
        number: {row["doc_id"] for row, d in zip(own, one.documents, strict=True) if d == number}
        for number in one.documents
    }
    assert all(len(docs) == 1 for docs in names.values())
    assert len({tuple(docs) for docs in names.values()}) == len(names)
    assert len(set(one.datasets.tolist())) == 2
    assert all(len(set(one.folds[one.documents == d])) == 1 for d in set(one.documents.tolist()))
    assert not one.by_sentence


def test_the_data_set_is_no_stratum_of_itself() -> None:
    (one, other), notes = contrasts_by_key(sentences(300), "dataset", 0)
    assert not notes
    assert not one.datasets.any()
    assert not other.datasets.any()


def test_conditions_are_joined() -> None:
    table = moods()
    a, b = [("mood", "glad"), ("dataset", "news")], [("mood", "sad")]
    one = contrast_of_conditions(table, a, b, 0)
    assert one.group == "mood=glad and dataset=news"
    rows = table.to_pylist()
    assert all(rows[i]["meta"]["mood"] == "glad" and rows[i]["dataset"] == "news" for i in one.rows[one.is_a])
    assert {rows[i]["meta"]["mood"] for i in one.rows[~one.is_a]} == {"sad"}


@pytest.mark.parametrize(
    ("a", "b", "told"),
    [
        (
            [("tone", "glad")],
            [("mood", "sad")],
            "--a tone=glad: the corpus has no metadata key tone; it has ",
        ),
        ([("mood", "grim")], [("mood", "sad")], r"--a mood=grim: no sentence has this value; mood has .*calm \(10\)"),
        ([("mood", "glad")], [("dataset", "news")], "the groups overlap in"),
        ([("mood", "glad")], [("mood", "calm")], "--b mood=calm: has 10 sentences of"),
    ],
)
def test_wrong_conditions_are_refused(a: list[tuple[str, str]], b: list[tuple[str, str]], told: str) -> None:
    with pytest.raises(InputError, match=told):
        contrast_of_conditions(moods(), a, b, 0)


@pytest.mark.parametrize(
    ("table", "key", "told"),
    [
        (moods(), "tone", "has no metadata key tone"),
        (sentences(60, mood=["glad"] * 60), "mood", "mood has one value only, glad in 60 sentences"),
        (sentences(60, mood=[None] * 60), "mood", "has no value"),
        (sentences(60, mood=["glad"] * 50 + ["sad"] * 10), "mood", "no value of mood and its rest have 20 sentences"),
        (sentences(200, documents=4, mood=["glad", "sad"] * 100), "mood", "and 5 documents each"),
    ],
)
def test_wrong_keys_are_refused(table: pa.Table, key: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        contrasts_by_key(table, key, 0)


@pytest.mark.parametrize("text", ["mood", "=glad", "mood="])
def test_a_condition_has_a_key_and_a_value(text: str) -> None:
    with pytest.raises(InputError, match="expected KEY=VALUE"):
        parse_condition("--a", text)


def test_sentences_in_both_groups_of_texts_are_left_out() -> None:
    a, b = sentences(60, 1), sentences(80, 2)
    b = b.set_column(3, "text", pa.array([f"another {i}" for i in range(78)] + ["sentence 3", "sentence 4"]))
    one, notes = contrast_of_texts(a, b, ("mine", "yours"), 0)
    assert (one.group, int(one.is_a.sum()), int((~one.is_a).sum())) == ("mine", 58, 78)
    assert notes == ["2 sentences in both groups, left out"]
    with pytest.raises(InputError, match="--a-texts mine: has 8 sentences of"):
        contrast_of_texts(a[:10], b, ("mine", "yours"), 0)


def test_at_most_twenty_values_the_most_frequent() -> None:
    values: list[str | None] = [f"v{i:02}" for i in range(25) for _ in range(25 + i)]
    found, notes = contrasts_by_key(sentences(len(values), topic=values), "topic", 0)
    assert [one.group for one in found] == [f"topic=v{i:02}" for i in range(24, 4, -1)]
    assert notes == ["--by topic: 5 values left out, too rare or after the first 20"]


def test_values_of_few_documents_are_left_out_before_they_are_contrasted(monkeypatch: pytest.MonkeyPatch) -> None:
    made, of = [], Contrast.of
    monkeypatch.setattr(Contrast, "of", lambda group, *own: made.append(group) or of(group, *own))
    names: list[str | None] = [f"v{i}" for i in range(30) for _ in range(20)] + ["many", "more"] * 100
    table = sentences(800, author=names)
    alone = [
        name if name.startswith("v") else one for name, one in zip(names, table["doc_id"].to_pylist(), strict=True)
    ]
    found, notes = contrasts_by_key(table.set_column(1, "doc_id", pa.array(alone)), "author", 0)
    assert made == [one.group for one in found] == ["author=many", "author=more"]
    assert notes == ["--by author: 30 values left out, too rare or after the first 20"]


def test_intervals_are_by_sentence_without_documents() -> None:
    table = sentences(50)
    alone = table.set_column(1, "doc_id", pa.array([f"d{i}" for i in range(50)]))
    is_a = np.arange(50) < 25
    assert Contrast.of("x", alone, is_a, ~is_a, 0).by_sentence
    assert not Contrast.of("x", table, is_a, ~is_a, 0).by_sentence
