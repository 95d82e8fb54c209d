"""A search finds what a look at every row finds, in the order of the evidence, and a phrase stays text."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import power_divergence

from ops.errors import InputError
from ops.facts.evidence import KINDS
from ops.facts.query import AUDITED, Query, parse_form, parse_query
from ops.facts.search import MOST, Searcher, found_listing
from ops.schema.verdicts import VERDICTS
from ops.statistics.association import measures

Row = dict[str, Any]
Pair = tuple[int, int]

HOSTILE = ["'; drop table topk; --", '" or 1=1 --', *"%_\\\x00", "$text", "{where}", "<b>", "é 東京 😀", "()"]
WEAK = {"q_value": 0.06}


def pattern(layer: int, unit: int, kind: str, text: str, g2: float, **more: Any) -> Row:
    row: Row = {"layer": layer, "unit": unit, "pole": "top", "kind": kind, "pattern": text, "support": 5, "rank": 1}
    row |= {"share": 0.5, "baseline_share": 0.25, "lift": 2.0, "q_value": 0.01, "g2": g2}
    return row | more


def value(layer: int, unit: int, name: str, text: str, g2: float, **more: Any) -> Row:
    row = pattern(layer, unit, "", "", g2)
    row = {key: row[key] for key in row if key not in ("kind", "pattern", "support")}
    return row | {"property": name, "value": text, "count": 4, "n": 10, "baseline_n": 1_000} | more


PATTERNS = [
    pattern(1, 0, "word", "the end", 9.0),
    pattern(1, 0, "word", "end", 12.0),
    pattern(1, 1, "word", "weekend the", 5.0, pole="bottom"),
    pattern(2, 0, "word", "of the end of", 20.0),
    pattern(2, 1, "word", "the end", -3.0, lift=0.5),
    pattern(2, 5, "word", "End", 4.0, lift=3.0, q_value=0.001),
    pattern(2, 4, "word", "end", 99.0, **WEAK),
    pattern(2, 3, "word", "end", 99.0, support=2),
    pattern(2, 1, "tag", "DT NN", 7.0),
    pattern(1, 2, "tag", "VBN", 6.0),
    pattern(1, 1, "tag", "VBD VBN", 30.0),
    pattern(1, 1, "tag", "TO", 3.0),
    pattern(1, 2, "word", "to", 5.0),
    pattern(2, 2, "subtree", "(NP (DT) (NN))", 8.0),
    pattern(2, 5, "subtree", "(ROOT (SBARQ))", 9.0),
]
VALUES = [
    value(1, 0, "dataset", "Books", 3.0),
    value(1, 1, "author", "books", 4.0),
    value(2, 4, "author", "book", 4.5),
    value(1, 2, "author", "Doe", 5.0),
    value(2, 3, "punctuation", "?", 3.0),
    value(2, 0, "form", "negation", 40.0),
    value(2, 1, "form", "question", 50.0),
    value(2, 2, "pronoun", "first singular", 8.0),
    value(1, 0, "tense", "past", 8.0),
    value(1, 1, "suffix", "-able", 8.0),
    value(1, 2, "first_word", "able", 9.0),
    value(2, 0, "noun", "able", 2.0),
    value(2, 1, "words_per_sentence", "7", 90.0),
    value(2, 1, "tag", "VBN", 90.0),
    value(2, 2, "topic", "negation", 3.0, **WEAK),
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
SCORES = [
    {"layer": 1, "unit": 0, "pole": "top", "auc": 0.9, "auc_excess": 0.3},
    {"layer": 2, "unit": 0, "pole": "top", "auc": 0.6, "auc_excess": 0.4},
    {"layer": 2, "unit": 2, "pole": "top", "auc": 0.7, "auc_excess": None},
    {"layer": 2, "unit": 1, "pole": "top", "auc": None, "auc_excess": None},
]
EXPLAINED = [
    {"layer": layer, "unit": unit, "pole": "top", "text": text, "verdict": verdict, "margin_low": margin, "n": 100}
    | {"typical": []}
    for layer, unit, text, verdict, margin in [
        (1, 0, "Sentences with *end*: 64 % of its winners.", "rule", 0.25),
        (1, 1, "Sentences with a word like *exam/school/work*: 50 % of its winners.", "rule", 0.5),
        (2, 0, "No rule and no end of it: not confirmed.", "tendency", None),
        (2, 1, "Not confirmed.", "weak", None),
    ]
]
TYPICAL = {
    (2, 2, "top"): [
        {"kind": "word", "pattern": "tired", "words": ["tired", "sleepy"], "winners": 20, "expected": 2.0, "q": 0.01},
        {"kind": "word", "pattern": "end", "words": ["end"], "winners": 9, "expected": 1.0, "q": 0.01},
        {"kind": "word", "pattern": "weak", "words": ["weak"], "winners": 9, "expected": 1.0, "q": 0.2},
        {"kind": "form", "pattern": "question", "words": [], "winners": 30, "expected": 3.0, "q": 0.01},
        {"kind": "form", "pattern": "first word: so", "words": [], "winners": 30, "expected": 3.0, "q": 0.01},
        {"kind": "value", "pattern": "mood: so-so", "words": [], "winners": 30, "expected": 3.0, "q": 0.01},
        {"kind": "tag", "pattern": "VBG NN", "words": [], "winners": 30, "expected": 3.0, "q": 0.01},
    ]
}
TERMS = [
    {"model": "winners", "kind": "word_class", "pattern": "exam, school, work", "negated": negated, "layer": 1}
    | {"unit": unit, "pole": "top", "items": ["exam", "school", "work", "Lesson"], "share": 0.5, "baseline_share": 0.1}
    for unit, negated in ((1, False), (0, True))
]
AUDITED_ROWS = [
    {"layer": 1, "unit": 0, "pole": "top", "verdict": "local", "ported": 1, "datasets": 3},
    {"layer": 1, "unit": 1, "pole": "top", "verdict": "local", "ported": 2, "datasets": 3},
    {"layer": 2, "unit": 0, "pole": "top", "verdict": "dataset_detector", "ported": 0, "datasets": 3},
]
TABLES = {
    "patterns": PATTERNS, "sentences": SENTENCES, "topk": TOPK, "profiles": VALUES, "scores": SCORES,
    "explanations": EXPLAINED, "explanation_terms": TERMS, "explain/literals": TERMS, "audit/neurons": AUDITED_ROWS,
}  # fmt: skip


def searcher(
    without: tuple[str, ...] = (), silent: tuple[Pair, ...] = (), seconds: float = 20, **more: list[Row]
) -> Searcher:
    tables = {name: rows for name, rows in (TABLES | more).items() if name not in without}
    kept = {name: ds.dataset(pa.Table.from_pylist(rows)) for name, rows in tables.items()}
    return Searcher(kept, seconds, silent)


SEARCHER = searcher()


def find(written: str, own: Searcher = SEARCHER) -> list[Pair]:
    return [(row["layer"], row["unit"]) for row in own.find(parse_query(written))]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        # Whole words in any case; what is the phrase comes first, then what contains it, each by G2.
        ("END", [(1, 0), (2, 5), (2, 0)]),
        ("the end", [(1, 0), (2, 0)]),
        ("wee", []),
        ("not", []),  # although texts of explanations have it
        # Names of tags and constructions, codes in capitals, labels and subtrees.
        ("past participle", [(1, 2), (1, 1)]),
        ("Past participles", [(1, 2), (1, 1)]),
        ("VBN", [(1, 2), (1, 1)]),
        ("vbn", []),
        ("tag: vbn", [(1, 2), (1, 1)]),
        ("TO", [(1, 1)]),
        ("to", [(1, 2)]),
        ("DT NN", [(2, 1), (2, 2)]),
        ("noun phrase", [(2, 2)]),
        ("(NP (DT)", [(2, 2)]),
        ("(NP (DT) (NN))", [(2, 2)]),
        # Forms and values, by value and by property.
        ("negation", [(2, 0)]),
        ("questions", [(2, 1), (2, 5)]),
        ("question", [(2, 1), (2, 5)]),
        ("book", [(2, 4)]),
        ("first person", [(2, 2)]),
        ("pronoun", [(2, 2)]),
        ("past tense", [(1, 0), (1, 1)]),
        ("able", [(2, 0), (1, 2)]),
        ("-able", [(1, 1)]),
        ("first word: able", [(1, 2)]),
        ("first word able", [(1, 2)]),
        ("books", [(1, 1), (1, 0)]),
        ("author: BOOKS", [(1, 1)]),
        ("author books", [(1, 1)]),
        ("7", []),
        ("?", [(2, 3)]),
        ("mark: ?", [(2, 3)]),
        # A class of words, by each of its words.
        ("lesson", [(1, 1)]),
        ("word_class: exam", [(1, 1)]),
        # Text in quotation marks is no name.
        ('"past participle"', []),
        ('"end"', [(1, 0), (2, 5), (2, 0)]),
        # Filters.
        ("end lift:>2", [(2, 5)]),
        ("end lift:2", [(1, 0), (2, 5), (2, 0)]),
        ("end q:<0.01", [(2, 5)]),
        ("end g2:>=12 g2:<20", [(1, 0)]),
        ("end layer:2", [(2, 5), (2, 0)]),
        ("end pole:bottom", []),
        ("end verdict:tendency", [(2, 0)]),
        ("end score:>0.7", [(1, 0)]),
        ("verdict:rule", [(1, 1), (1, 0)]),
        ("verdict:tendency", [(2, 0)]),
        ("verdict:local layer:1", [(1, 1), (1, 0)]),
        ("verdict:dataset_detector", [(2, 0)]),
        ("score:>=0.7", [(1, 0), (2, 2)]),
    ],
)
def test_each_phrase_and_filter_finds_its_neurons_in_order(written: str, expected: list[Pair]) -> None:
    assert find(written) == expected


def test_typical_items_are_evidence_by_the_g2_of_winners_against_the_expected_number() -> None:
    rows = [row | {"typical": TYPICAL.get((row["layer"], row["unit"], row["pole"]), [])} for row in EXPLAINED]
    rows.append(EXPLAINED[3] | {"layer": 2, "unit": 2, "typical": TYPICAL[2, 2, "top"]})
    own = searcher(explanations=rows)
    assert find("sleepy", own) == find("tired", own) == [(2, 2)]
    assert find("weak", own) == []
    found = own.find(parse_query("end"))
    assert [(row["layer"], row["unit"]) for row in found] == [(2, 2), (1, 0), (2, 5), (2, 0)]
    expected = power_divergence([9, 91], [1, 99], lambda_="log-likelihood").statistic
    assert found[0]["g2"] == pytest.approx(expected, abs=0.051)
    assert (found[0]["lift"], found[0]["count"], found[0]["n"]) == (9.0, 9, 100)
    assert find("question", own)[0] == (2, 2)
    for written, level in (("first word so", 0), ("so", 1), ("mood so so", 0), ("gerund", 1), ("VBG NN", 0)):
        assert [(row["unit"], row["level"]) for row in own.find(parse_query(written))] == [(2, level)], written


def test_what_is_found_in_comparison_with_the_corpus_is_ranked_by_it_alone() -> None:
    """Unit 1:0 has *end* by both comparisons; what is typical of it has the higher G2, but is not what others have."""
    entry = {"kind": "word", "pattern": "end", "words": ["end"], "winners": 60, "expected": 0.5, "q": 0.001}
    typical = [entry, entry | {"pattern": "start", "words": ["start"]}]
    own = searcher(explanations=[EXPLAINED[0] | {"typical": typical}, *EXPLAINED[1:]])
    (row,) = (row for row in own.find(parse_query("end")) if (row["layer"], row["unit"]) == (1, 0))
    assert (row["g2"], row["lift"]) == (12.0, 2.0)
    (row,) = own.find(parse_query("start"))
    assert row["lift"] == 120.0
    ends = own.index("layer, unit, text, g2", "text in ('end', 'start') and unit = 0 and layer = 1").to_pylist()
    assert [(row["text"], row["g2"] > 100) for row in ends] == [("end", False), ("start", True)]


def test_a_class_of_words_has_the_g2_of_its_shares() -> None:
    (row,) = SEARCHER.find(parse_query("lesson"))
    assert row["g2"] == round(float(measures(50, 100, 100, 1_000).g2[0]), 1)
    assert row["found"] == "exam, school, work"
    assert row["level"] == 1


def test_the_order_is_that_of_brute_force_over_random_rows() -> None:
    rng = np.random.default_rng(5)
    words = ["a", "b", "a b", "b a c", "ab", "c a"]
    rows = [
        pattern(int(layer), int(unit), "word", words[rng.integers(len(words))], round(float(rng.normal(8, 6)), 2))
        | {
            "q_value": float(rng.uniform(0, 0.1)),
            "lift": float(rng.uniform(0.5, 4)),
            "pole": "top" if top else "bottom",
        }
        for layer, unit, top in rng.integers((1, 0, 0), (4, 30, 2), (600, 3))
    ]
    own = searcher(without=("scores", "explanations", "audit/neurons", "profiles"), patterns=rows)
    best: dict[tuple[int, int, str], tuple[int, float]] = {}
    for row in rows:
        level = 0 if row["pattern"] == "a" else 1 if "a" in row["pattern"].split() else None
        if level is None or not (row["g2"] > 0 and row["lift"] > 1.5 and row["q_value"] < 0.05):
            continue
        key, strength = (row["layer"], row["unit"], row["pole"]), (level, -round(np.float64(row["g2"]), 1))
        best[key] = min(best.get(key, strength), strength)
    expected = [key for _, key in sorted((strength, key) for key, strength in best.items())]
    found = own.find(parse_query("a lift:>1.5"))
    assert [(row["layer"], row["unit"], row["pole"]) for row in found] == expected[:MOST]
    assert found[0]["total"] == len(expected) > 50


def test_silent_neurons_are_left_out() -> None:
    assert find("end", searcher(silent=((1, 0), (5, 5)))) == [(2, 5), (2, 0)]
    assert find("verdict:rule", searcher(silent=((1, 0),))) == [(1, 1)]
    assert (1, 0) not in find("text: storm", searcher(silent=((1, 0),)))


def test_text_finds_the_winners_that_contain_it_in_any_case() -> None:
    rows = SEARCHER.find(parse_query("text: storm"))
    expected = sorted((t["rank"], t["layer"], t["unit"]) for t in TOPK if t["sent_id"] == 0)
    assert [(r["rank"], r["layer"], r["unit"]) for r in rows] == expected
    assert {r["found"] for r in rows} == {"The STORM came."}


def test_hostile_text_is_looked_for_as_it_is() -> None:
    rows = [pattern(3, i, "word", text, 4.0) for i, text in enumerate(HOSTILE)]
    own = searcher(patterns=[*PATTERNS, *rows])
    asked = [Query(text, is_quoted=True) for text in HOSTILE]
    assert [[(r["layer"], r["unit"]) for r in own.find(one)] for one in asked] == [
        [(3, i)] for i in range(len(HOSTILE))
    ]
    assert find("end", own) == find("end"), "everything is still there"


PIECES = st.lists(st.sampled_from([*HOSTILE, "a", ":", '"', "q:<", "lift:", "tag:", "verdict:"])).map(" ".join)


@given(st.text(max_size=40) | PIECES)
def test_any_text_is_answered_or_refused_in_one_line(written: str) -> None:
    rows, refused = [], ""
    try:
        rows = SEARCHER.find(parse_query(written))
    except InputError as error:
        refused = str(error)
    assert "\n" not in refused
    assert all(row["layer"] in (1, 2) for row in rows)


def test_no_file_is_opened_and_nothing_is_changed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    connection = SEARCHER._connection
    for sql in (f"select * from '{tmp_path}/a.csv'", f"copy (select 1) to '{tmp_path}/b.csv'", "set threads = 1"):
        with pytest.raises(duckdb.Error):
            connection.execute(sql)
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("", "nothing to search for"),
        ("layer:3", "nothing to search for"),
        ("end lift:much", "lift:much: there is no number"),
        ("end q:<nan", "q:<nan: there is no number"),
        ("topic:>1", "topic:>1: compares no number"),
        ("end pole:up", "pole:up is unknown"),
        ("verdict:sure", "verdict:sure is unknown"),
        ("end layer:²", "not the number of a layer"),
        ("end layer:1 layer:2", "is given twice"),
        ("end pole:>top", "compares no number"),
        ("lift:>2", "needs a word"),
        ("tag:", "nothing follows"),
        ('"a" b', "next to a quoted text"),
        ("text: end lift:>2", "sentences, which have no lift"),
        ("colour: red", "is no kind or property"),
        ("peak: x", "no results of atlas tokens"),
        ("x" * 201, "longer than 200"),
    ],
)
def test_what_cannot_be_asked_is_named(written: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        SEARCHER.find(parse_query(written))


def test_what_a_run_lacks_is_named() -> None:
    for without, written, message in (
        ("scores", "score:>0.5", "no held-out scores"),
        ("explanations", "verdict:rule", "no results of atlas explain"),
        ("audit/neurons", "verdict:local", "no results of atlas audit"),
    ):
        with pytest.raises(InputError, match=message):
            find(written, searcher(without=(without,)))
    assert find("weekend", searcher(without=("scores", "explanations", "audit/neurons"))) == [(1, 1)]


def test_a_search_that_takes_too_long_ends() -> None:
    n = 1_000_000
    columns = {"sent_id": range(n), "text": ["a long text " * 4] * n, "dataset": ["d"] * n, "is_winner": [True] * n}
    many = pa.concat_tables([pa.table(columns)] * 30)
    tables = {"topk": pa.Table.from_pylist(TOPK), "sentences": many}
    slow = Searcher({name: ds.dataset(table) for name, table in tables.items()}, 0.1)
    with pytest.raises(InputError, match="took longer"):
        slow.find(parse_query("text: not there"))


def test_a_form_s_fields_are_filters() -> None:
    fields = {"q": " end ", "pole": "top", "layer": "2", "lift": "1.5", "below": "0.05", "score": "", "verdict": "rule"}
    assert parse_form(fields) == parse_query("end pole:top layer:2 verdict:rule lift:>=1.5 q:<=0.05")
    assert parse_form({}) is parse_form({"q": "  "}) is None
    for field, wrong in (("lift", "2 x"), ("layer", '"'), ("pole", "up")):
        with pytest.raises(InputError, match=field):
            parse_form({"q": "end", field: wrong})


def listings() -> Iterator[tuple[str, tuple[str, ...], str]]:
    yield "end", ("neuron", "G2", "lift", "q", "winners", "found", "verdict", "explanation"), "word: end"
    yield "verdict:rule", ("neuron", "beyond", "score", "excess", "verdict", "explanation"), "rule"
    yield "verdict:local", ("neuron", "beyond", "score", "excess", "verdict", "data sets"), "2 of 3"
    yield "text: storm", ("neuron", "rank", "activation", "sentence"), "The STORM came."


@pytest.mark.parametrize(("written", "titles", "cell"), listings())
def test_what_was_found_is_listed(written: str, titles: tuple[str, ...], cell: str) -> None:
    query = parse_query(written)
    rows = SEARCHER.find(query)
    listing = found_listing(query, rows, "neuron")
    assert re.match(rf"{len(rows)} found, ", listing.about)
    assert listing.titles[: len(titles)] == titles or listing.titles[-1] == "explanation"
    assert any(cell in cells for cells in listing.rows)
    assert found_listing(query, [], "neuron").rows == ()


@pytest.mark.parametrize(
    ("written", "hints"),
    [
        ("vbn", ["capital letters"]),
        ("vbn lift:>9", ["weaker limits", "capital letters"]),
        ("verdict:rule score:>0.999", ["weaker limits"]),
        ("verdict:rule", []),
        ("text: qqq", []),
    ],
)
def test_where_nothing_is_found_the_hints_are_those_that_may_help(written: str, hints: list[str]) -> None:
    said = found_listing(parse_query(written), [], "neuron").about
    assert [hint for hint in ("weaker limits", "capital letters") if hint in said] == hints


def test_kinds_and_verdicts_can_be_typed() -> None:
    assert all(parse_query(f"{kind}: x").kind == kind for kind in KINDS)
    assert all(parse_query(f"verdict:{name}").verdict == name for name in (*VERDICTS, *AUDITED))
    assert parse_query("meta:noun: dog").kind == "meta:noun"
    assert parse_query("see http://a.example").text == "see http://a.example"
