"""A search finds what a look at every row finds, and no text that is asked for becomes a part of the question."""

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.errors import InputError
from ops.facts.search import KINDS, MOST, Query, Searcher, parse_query

HOSTILE = ["'; drop table topk; --", '" or 1=1 --', *"%_\\\x00", "$text", "{where}", "<b>", "é 東京 😀", "()"]


def pattern(layer: int, unit: int, pole: str, kind: str, text: str, g2: float) -> dict[str, Any]:
    share = {"share": 0.5, "baseline_share": 0.25, "lift": 2.0}
    return {"layer": layer, "unit": unit, "pole": pole, "kind": kind, "pattern": text, "support": 5, **share, "g2": g2}


PATTERNS = [
    pattern(1, 0, "top", "word", "the end", 9.0),
    pattern(1, 0, "top", "word", "end", 12.0),
    pattern(1, 1, "bottom", "word", "weekend the", 5.0),
    pattern(2, 0, "top", "word", "of the end of", 20.0),
    pattern(2, 1, "top", "word", "the end", -3.0),
    pattern(2, 1, "top", "tag", "DT NN", 7.0),
    pattern(2, 2, "top", "subtree", "(NP (DT) (NN))", 8.0),
    *(pattern(3, i, "top", "word", text, 4.0) for i, text in enumerate(HOSTILE)),
]
SENTENCES = [
    {"sent_id": i, "text": text, "dataset": "d", "is_winner": i != 2}
    for i, text in enumerate(["The STORM came.", "no", "a storm elsewhere", *HOSTILE])
]
TOPK = [
    {"layer": 1, "unit": u, "pole": "top", "rank": i + 1, "activation": 1.0 - i, "sent_id": (i + u) % len(SENTENCES)}
    for u in range(3)
    for i in range(len(SENTENCES))
]
VALUES = [("dataset", "Books"), ("author", "books"), ("author", "Doe"), ("author", HOSTILE[0])]
PROFILES = [
    {**{k: v for k, v in pattern(1, u, "top", "", "", 3.0 + u).items() if k not in ("kind", "pattern", "support")},
     "property": name, "value": value, "count": 4}
    for u, (name, value) in enumerate(VALUES)
]  # fmt: skip
PROFILES.append({**PROFILES[0], "layer": 2, "unit": 3, "property": "punctuation", "value": "?"})
SCORES = [
    {"layer": 1, "unit": 0, "pole": "top", "auc": 0.9, "matched_auc": 0.6, "auc_excess": 0.3},
    {"layer": 2, "unit": 0, "pole": "top", "auc": 0.6, "matched_auc": 0.2, "auc_excess": 0.4},
    {"layer": 2, "unit": 2, "pole": "top", "auc": 0.7, "matched_auc": 0.6, "auc_excess": None},
    {"layer": 2, "unit": 1, "pole": "top", "auc": None, "matched_auc": None, "auc_excess": None},
]

EXPLAINED = [
    {"layer": layer, "unit": unit, "pole": "top", "text": text, "verdict": verdict, "f1": f1, "margin_low": f1}
    | {"auc": 0.5}
    for layer, unit, text, verdict, f1 in [
        (1, 0, "Sentences with *Don't be*: 64 % of its winners.", "rule", 0.25),
        (1, 1, "Sentences with a word like *exam/school/work*: 50 % of its winners.", "rule", 0.5),
        (2, 0, "Nothing found that these features can express.", "none", None),
        (2, 1, "Too few winners in test documents to tell. Untested: sentences with *don't*: 9 %.", "weak", 0.75),
    ]
]
TERMS = [
    {"layer": 1, "unit": 1, "pole": "top", "model": "winners", "items": ["exam", "school", "work", "Lesson"]},
    {"layer": 2, "unit": 0, "pole": None, "model": "activation", "items": ["lesson"]},
]

AUDITED = [
    {"layer": 1, "unit": 0, "pole": "top", "verdict": "local", "ported": 1, "datasets": 3, "transfer": 0.5},
    {"layer": 1, "unit": 1, "pole": "top", "verdict": "local", "ported": 2, "datasets": 3, "transfer": None},
    {"layer": 2, "unit": 0, "pole": "top", "verdict": "dataset_detector", "ported": 0, "datasets": 3, "transfer": 0.0},
    {"layer": 2, "unit": 5, "pole": "top", "verdict": "local", "ported": 1, "datasets": 3, "transfer": 0.75},
]


def searcher(without: tuple[str, ...] = (), silent: tuple[tuple[int, int], ...] = ()) -> Searcher:
    tables = {"patterns": PATTERNS, "sentences": SENTENCES, "topk": TOPK, "profiles": PROFILES, "scores": SCORES}
    tables |= {"explanations": EXPLAINED, "explanation_terms": TERMS, "audit/neurons": AUDITED}
    kept = {name: ds.dataset(pa.Table.from_pylist(rows)) for name, rows in tables.items() if name not in without}
    return Searcher(kept, 20, silent)


SEARCHER = searcher()


def pairs(rows: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return [(row["layer"], row["unit"]) for row in rows]


def test_words_are_whole_words_and_a_neuron_stands_once() -> None:
    found = SEARCHER.find(Query("word", "end"))
    assert pairs(found) == [(2, 0), (1, 0)]
    assert [row["found"] for row in found] == ["of the end of", "end"]
    assert [row["auc"] for row in found] == [0.6, 0.9]
    assert pairs(SEARCHER.find(Query("word", "the end"))) == [(2, 0), (1, 0)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (Query("any", "END"), [(2, 0), (1, 0)]),
        (Query("any", "dt"), [(2, 1), (2, 2)]),
        (Query("any", "np"), [(2, 2)]),
        (Query("any", "(np"), [(2, 2)]),
        (Query("any", "wee"), []),
        (Query("any", "books"), [(1, 0), (1, 1)]),
        (Query("any", "?"), [(2, 3)]),
        (Query("any", "Lesson"), [(1, 1)]),
        (Query("any", "don't be", pole="top"), [(1, 0)]),
        (Query("tag", "dt"), [(2, 1)]),
        (Query("subtree", "(NP (DT)"), [(2, 2)]),
        (Query("pattern", "(NP (DT) (NN))"), [(2, 2)]),
        (Query("pattern", "DT"), []),
        (Query("value", "BOOKS"), [(1, 0), (1, 1)]),
        (Query("value", "BOOKS", property="author"), [(1, 1)]),
        (Query("explanation", "DON'T"), [(1, 0), (2, 1)]),
        (Query("explanation", "lesson"), [(1, 1)]),
        (Query("explanation", "sentences", layer=1), [(1, 0), (1, 1)]),
        (Query("explanation", "sentences", least=0.8), [(1, 0)]),
        (Query("audit", "Local"), [(1, 0), (1, 1), (2, 5)]),
        (Query("audit", "dataset detector"), [(2, 0)]),
        (Query("audit", "dataset_detector", layer=1), []),
        (Query("audit", "local", least=0.7), [(1, 0)]),
        (Query("audit", "loc"), []),
        (Query("any", "local"), []),
        (Query("score", least=0.7), [(1, 0), (2, 2)]),
        (Query("score"), [(2, 0), (1, 0), (2, 2)]),
        (Query("score", layer=2), [(2, 0), (2, 2)]),
        (Query("word", "end", least=0.7), [(1, 0)]),
        (Query("word", "end", pole="bottom"), []),
    ],
)
def test_each_kind_and_limit_finds_its_neurons(query: Query, expected: list[tuple[int, int]]) -> None:
    assert pairs(SEARCHER.find(query)) == expected


def test_the_best_above_their_matched_sets_come_first_and_all_are_counted() -> None:
    """And what only one or two winners have is not found."""
    many = [pattern(9, unit, "top", "word", "many", 9.0) for unit in range(MOST + 20)]
    many.append({**pattern(9, 999, "top", "word", "many", 9.0), "support": 2})
    scores = [
        {"layer": 9, "unit": unit, "pole": "top", "auc": 0.5, "matched_auc": 0.5, "auc_excess": unit / 1000}
        for unit in range(MOST + 20)
    ]
    tables = {"patterns": many, "profiles": PROFILES, "scores": scores}
    own = Searcher({name: ds.dataset(pa.Table.from_pylist(rows)) for name, rows in tables.items()}, 20)
    found = own.find(Query(text="MANY"))
    assert [row["unit"] for row in found] == [*range(MOST + 19, 19, -1)]
    assert {row["total"] for row in found} == {MOST + 20}


def test_an_explanation_comes_with_its_verdict() -> None:
    found = SEARCHER.find(Query("explanation", "don't"))
    assert [(row["found"], row["verdict"], row["f1"]) for row in found] == [
        (EXPLAINED[i]["text"], EXPLAINED[i]["verdict"], EXPLAINED[i]["f1"]) for i in (0, 3)
    ]
    assert [row["auc"] for row in found] == [0.9, None]


def test_silent_neurons_are_left_out() -> None:
    assert pairs(searcher(silent=((2, 0),)).find(Query("score"))) == [(1, 0), (2, 2)]
    assert pairs(searcher(silent=((2, 0), (5, 5))).find(Query("word", "end"))) == [(1, 0)]
    assert set(pairs(searcher(silent=((1, 0),)).find(Query("text", "storm")))) == {(1, 1), (1, 2)}


def test_text_finds_the_winners_that_contain_it_in_any_case() -> None:
    rows = SEARCHER.find(Query("text", "storm"))
    expected = sorted((t["rank"], t["layer"], t["unit"]) for t in TOPK if t["sent_id"] == 0)
    assert [(r["rank"], r["layer"], r["unit"]) for r in rows] == expected
    assert {r["found"] for r in rows} == {"The STORM came."}
    assert len(SEARCHER.find(Query("text", ""))) <= MOST


def test_hostile_text_is_looked_for_as_it_is() -> None:
    assert [pairs(SEARCHER.find(Query("pattern", t))) for t in HOSTILE] == [[(3, i)] for i in range(len(HOSTILE))]
    assert len(SEARCHER.find(Query("word", "the"))) == 3, "everything is still there"


@given(st.sampled_from(list(KINDS)), st.text(max_size=30), st.text(max_size=10))
def test_any_text_is_answered(what: str, text: str, other: str) -> None:
    for row in SEARCHER.find(Query(what, text, other)) if what != "peak" else []:
        assert row["layer"] in (1, 2, 3)


def test_no_file_is_opened_and_nothing_is_changed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    connection = SEARCHER._connection
    for sql in (f"select * from '{tmp_path}/a.csv'", f"copy (select 1) to '{tmp_path}/b.csv'", "set threads = 1"):
        with pytest.raises(duckdb.Error):
            connection.execute(sql)
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]


def test_what_a_run_lacks_is_named() -> None:
    with pytest.raises(InputError, match="no held-out scores"):
        searcher(without=("scores",)).find(Query("score"))
    with pytest.raises(InputError, match="no results of atlas explain"):
        searcher(without=("explanations",)).find(Query("explanation", "x"))
    with pytest.raises(InputError, match="no results of atlas tokens"):
        SEARCHER.find(Query("peak", "x"))
    assert pairs(searcher(without=("scores",)).find(Query("word", "weekend"))) == [(1, 1)]


def test_a_search_that_takes_too_long_ends() -> None:
    n = 1_000_000
    columns = {"sent_id": range(n), "text": ["a long text " * 4] * n, "dataset": ["d"] * n, "is_winner": [True] * n}
    many = pa.concat_tables([pa.table(columns)] * 30)
    tables = {"topk": pa.Table.from_pylist(TOPK), "sentences": many}
    slow = Searcher({name: ds.dataset(table) for name, table in tables.items()}, 0.005)
    with pytest.raises(InputError, match="took longer"):
        slow.find(Query("text", "not there"))


def test_a_form_becomes_a_query_and_what_does_not_fit_is_named() -> None:
    for name, wrong in (("what", "drop"), ("pole", "up"), ("layer", "²"), ("least", "nan"), ("least", "2")):
        with pytest.raises(InputError, match=f"{name} '{wrong}'"):
            parse_query({"q": "x", name: wrong})
    with pytest.raises(InputError, match="q: is longer"):
        parse_query({"q": "x" * 201})
    assert parse_query({}) is None
    assert parse_query({"q": "x"}) == Query("any", "x")
    assert parse_query({"what": "score"}) == Query("score")
    for text in ("verdict:local", "Verdict: Dataset detector"):
        found = parse_query({"q": text, "layer": "1"})
        assert found == Query("audit", text.partition(":")[2].strip(), layer=1)
    asked = {"what": "value", "q": " a  b ", "property": "author", "pole": "top", "layer": "3", "least": "0.5"}
    assert parse_query(asked) == Query("value", "a b", "author", "top", 3, 0.5)
