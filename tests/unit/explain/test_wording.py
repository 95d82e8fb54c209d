"""What is written of an explanation: its literals, the rule by which they combine, and its shares."""

import re
from dataclasses import replace
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.explain.combination import Bound, Combination, evidence_needed
from ops.explain.wording import MOST_TYPICAL, explanation_text, percent, typical_name
from ops.literals.literal_words import PatternRules, Term
from ops.schema.verdicts import VERDICTS
from ops.statistics.interval import Interval


def text_of(
    verdict: str,
    terms: list[Term],
    r2: float | None = None,
    r2_nuisance: float | None = None,
    low: float | None = 0.001,
    **more: object,
) -> str:
    """Return the explanation of 40 winners, of which cards call a half, and a tenth of other sentences."""
    given = {"winners": 40, "in_sample": (0.53, 0.09), "held_out": (0.5, 0.1), "f1": 0.25}
    given |= {"r2": {"r2": r2, "r2_low": low, "r2_nuisance": r2_nuisance}}
    return explanation_text(verdict, terms, **(given | more))  # type: ignore[arg-type]


def random_bounds(rng: Random, size: int) -> list[Bound | None]:
    """Return bounds of different lengths for some literals, as no card has a literal twice."""
    words = rng.sample(range(1, 10), size)
    return [Bound(n, rng.random() < 0.4) if rng.random() < 0.3 else None for n in words]


def one_length(bounds: list[Bound | None], holds: tuple[bool, ...]) -> bool:
    """Whether a sentence of some length can have the literals that hold, and lack the others."""
    lengths = [(bound, has) for bound, has in zip(bounds, holds, strict=True) if bound]
    return any(all(((n <= bound.words) != bound.negated) == has for bound, has in lengths) for n in range(11))


@pytest.mark.parametrize("seed", range(20))
def test_a_combination_calls_the_sentences_that_reach_the_evidence(seed: int) -> None:
    rng = Random(seed)
    for _ in range(40):
        sizes = [rng.choice((1.0, 2.0, rng.uniform(0.1, 4.0))) for _ in range(rng.randint(1, 6))]
        needed, bounds = rng.uniform(0.01, 1.0) * sum(sizes), random_bounds(rng, len(sizes))
        rule = Combination.of(sizes, needed, bounds)
        assert len({*rule.required, *rule.others, *rule.idle}) == len(rule.required + rule.others + rule.idle)
        sets = [holds for holds in product((False, True), repeat=len(sizes)) if one_length(bounds, holds)]
        reached = {holds: sum(s for s, has in zip(sizes, holds, strict=True) if has) >= needed - 1e-9 for holds in sets}
        if len({*reached.values()}) == 1:  # the same is said as where nothing is known of the evidence
            assert (rule.required + rule.others, rule.least, rule.idle) == ([*range(len(sizes))], None, [])
            continue
        for holds, is_winner in reached.items():
            required, others = all(holds[i] for i in rule.required), sum(holds[i] for i in rule.others)
            if rule.least is None and rule.others:  # enough of them: none at all never is, all of them are
                assert not is_winner or (required and others)
                assert is_winner or not required or others < len(rule.others)
            else:
                assert is_winner == (required and others >= (rule.least or 0))


def test_of_many_literals_enough_must_hold() -> None:
    assert Combination.of([1.0] * 16, 2.0).least == 2
    assert Combination.of([1.0] * 32, 2.0) == Combination([], [*range(32)], None, [])


def test_a_rule_names_all_of_its_literals_and_its_shares() -> None:
    rng = Random(0)
    for _ in range(300):
        kinds = rng.choices(("word", "tag", "mark", "value"), k=rng.randint(1, 8))
        items = {"word": ["see", "of"], "tag": ["NN"], "mark": ["?"], "value": ["topic", "x"]}
        terms = [
            replace(
                term(kind, [*items[kind][:-1], f"{items[kind][-1]}{i}"], rng.choice((-1.0, 1.0, 2.0))),
                gain=rng.random(),
            )
            for i, kind in enumerate(kinds)
        ]
        share, needed = rng.random(), rng.uniform(0, 1.05) * len(terms)
        for verdict in VERDICTS:
            text = text_of(verdict, terms, 0.3, 0.1, held_out=(share, 0.25), in_sample=(share, 0.25), needed=needed)
            shares = f": {percent(share)} of its winners, 25 % of other sentences (held-out F1 0.25)."
            assert (shares in text) == (verdict == "rule")
            if verdict == "rule":
                assert all(f"{items[kind][-1]}{i}" in text for i, kind in enumerate(kinds))


def test_language_comes_before_labels_and_these_before_length_each_by_its_gain() -> None:
    ordered = [
        replace(term("word", ["much"]), gain=0.3), replace(term("word", ["less"]), gain=0.1),
        replace(term("value", ["topic", "space"]), gain=0.5), replace(term("length", ["9"]), gain=0.9, nuisance=True),
    ]  # fmt: skip
    for terms in (ordered, ordered[::-1]):
        places = [text_of("rule", terms, needed=4.0).index(said) for said in ("*much*", "*less*", "topic", "9 words")]
        assert places == sorted(places)
    # What is required follows if it says less than the literals of which one is enough.
    weights = [replace(own, weight=weight) for own, weight in zip(ordered, (1.0, 1.0, 1.0, 3.0), strict=True)]
    said = text_of("rule", weights, needed=4.0)
    assert said.startswith(
        "Rule: sentences either with *much*, *less* or whose topic is *space*, and of at most 9 words: "
    )


ENTRIES = [
    {"kind": "word", "pattern": "sleep", "words": ["sleep", "bed", "nap", "tired"], "winners": 11, "expected": 0.4},
    {"kind": "word", "pattern": "not feeling", "words": ["not feeling"], "winners": 4, "expected": 0.04},
    {"kind": "tag", "pattern": "VBD", "words": [], "winners": 30, "expected": 12.0},
    {"kind": "subtree", "pattern": "(ROOT (NP))", "words": [], "winners": 20, "expected": 4.0},
    {"kind": "value", "pattern": "sentiment: negative", "words": [], "winners": 20, "expected": 4.0},
    {"kind": "form", "pattern": "negation", "words": [], "winners": 8, "expected": 2.0},
    {"kind": "word", "pattern": "last", "words": ["last"], "winners": 5, "expected": 1.0},
]


NEW = [entry | {"is_new": True} for entry in ENTRIES]


def test_a_text_begins_with_what_is_typical_and_the_strongest_six_are_named() -> None:
    text = text_of("unconfirmed", [], typical=NEW, setting="mostly from *tweets* (60 %, corpus 17 %)")
    assert text == (
        "Typically words like *sleep*, *bed* and *nap* (28 % of its winners, 1 % expected), "
        "*not feeling* (10 %, 0.1 %), a past-tense verb (VBD) (75 %, 30 %), "
        "only a noun phrase (ROOT (NP)) (50 %, 10 %), "
        "sentiment *negative* (50 %, 10 %), a negation (20 %, 5 %). "
        "Its winners are mostly from *tweets* (60 %, corpus 17 %). No rule was confirmed with its 40 winners."
    )
    assert MOST_TYPICAL == 6
    assert [typical_name(entry) in text for entry in ENTRIES] == [True] * 6 + [False]
    fewer = [entry | {"is_new": entry["pattern"] == "last"} for entry in ENTRIES]
    for typical, said in ((fewer, "Typically *last* (12 % of its winners, 2.5 % expected). "), ([], "")):
        text = text_of("unconfirmed", [], typical=typical, setting="short")
        assert text == f"{said}Its winners are short. No rule was confirmed with its 40 winners."


def is_percentage(said: str, share: float) -> bool:
    """Whether what is said is the share, rounded to the digits that are shown."""
    if said == "under 0.001 %":
        return 0 < share < 1e-5
    number = said.removesuffix(" %")
    digits = len(number.partition(".")[2])
    off = float(number) - 100 * share
    if 99 < 100 * share < 100:
        return -0.1 < off <= 1e-9
    return abs(off) <= 0.5 * 10**-digits + 1e-9 and (off == 0 or float(number) not in (0, 100))


def term(kind: str, items: list[str], weight: float = 1.0, share: float = 0.5, other: float | None = 0.1) -> Term:
    return Term(kind, " ".join(items), items, weight < 0, weight, share, other)


@pytest.mark.parametrize(
    ("given_terms", "needed", "expected"),
    [
        ([term("length", ["8"]), term("word", ["see"], 3.0)], 4.0, "with *see* and of at most 8 words"),
        ([term("length", ["8"]), term("length", ["5"]), term("word", ["see"])], 3.0,
         "with *see* and of at most 5 words"),
        ([term("word", ["a"], 2.0), term("word", ["b"]), term("mark", ["?"])], 3.0,
         "with *a*, and either with *b* or a question mark (?)"),
        ([term("word", ["a"]), term("word", ["b"]), term("word", ["c"], -1.0)], 2.0,
         "with at least two of these: *a*, *b* and no *c*"),
        ([term("word", ["a"], 1.0), term("word", ["b"], 2.0), term("tag", ["MD"], -3.0)], 3.0,
         "with enough of these: *a*, *b* and no modal verb (MD)"),
        ([term("value", ["dataset", "imdb"]), term("value", ["topic", "space"], -1.0)], 2.0,
         "from the data set *imdb* and whose topic is not *space*"),
        ([term("subtree", ["(ROOT", "(NP))"], -1.0), term("word", ["a"])], 1.0,
         "with *a* or that are not only a noun phrase (ROOT (NP))"),
        ([Term("word_class", "exam, school", ["exam", "school", "work"], False, 1.0, 0.5, 0.1)], 1.0,
         "with a word like *exam/school*"),
        ([term("hub", ["hub"])], 1.0, "that many neurons share"),
        ([term("value", ["author"], -1.0), term("word", ["a"])], 2.0, "with *a* and without a value of *author*"),
    ],
)  # fmt: skip
def test_how_literals_combine_is_said(given_terms: list[Term], needed: float | None, expected: str) -> None:
    text = text_of("rule", given_terms, needed=needed)
    assert text.split(": 50 %")[0] == f"Rule: sentences {expected}"


def test_a_literal_that_never_matters_is_said_apart_and_a_collapsed_root_has_what_its_clause_has() -> None:
    for given_terms, needed, idle in (
        ([term("word", ["a"], 3.0), term("word", ["b"])], 2.0, "with *b*"),
        ([term("length", ["10"], -1.0), term("length", ["20"], -1.0)], 1.0, "of more than 20 words"),
        (
            [term("word", ["a"], 5.0), term("length", ["9"]), term("length", ["7"], -1.0)], 4.0,
            "of at most 9 words and of more than 7 words",
        ),
    ):  # fmt: skip
        text = text_of("rule", given_terms, needed=needed)
        assert f", more so {idle}: 50 %" in text
    rules = PatternRules.of({"word_max_gap": 0, "subtree_root": "collapse"})
    assert rules == PatternRules(word_gap=False, is_collapsed=True)
    text = text_of("rule", [term("subtree", ["(ROOT", "(NP))"])], rules=rules)
    assert text.startswith("Rule: sentences that have a noun phrase at the top (ROOT (NP)): 50 %")


def test_sources_are_said_literal_by_literal_each_with_its_shares() -> None:
    given_terms = [term("length", ["8"]), term("word", ["see"]), term("value", ["dataset", "imdb"], -1.0, 0.25, 0.75)]
    given_terms = [replace(own, nuisance=own.kind != "word") for own in given_terms]
    assert text_of("source", given_terms) == (
        "Data set and length predict its winners: sentences of at most 8 words (50 % of its winners, 10 % of other "
        "sentences); not from the data set *imdb* (25 %, 75 %). No rule beyond that was confirmed."
    )
    unknown = replace(term("value", ["topic"], -1.0, 0.6, 0.3), nuisance=True)
    assert text_of("source", [unknown]) == (
        "Whether *topic* is known predicts its winners: sentences without a value of *topic* (60 % of its winners, "
        "30 % of other sentences). No rule beyond that was confirmed."
    )


@pytest.mark.parametrize(
    ("in_sample", "expected"),
    [
        ((0.59, 0.19), "50 % of its winners, 10 % of other sentences (held-out F1 0.25)."),
        ((0.41, 0.0501), "50 % of its winners, 10 % of other sentences (held-out F1 0.25)."),
        (
            (0.3, 0.1),
            "30 % of its winners, 10 % of other sentences. The cards of the folds find 50 % and 10 % "
            "(held-out F1 0.25).",
        ),
        (
            (0.5, 0.002),
            "50 % of its winners, 0.2 % of other sentences. The cards of the folds find 50 % and 10 % "
            "(held-out F1 0.25).",
        ),
    ],
)
def test_a_rule_that_its_folds_do_not_share_has_its_own_shares_too(
    in_sample: tuple[float, float], expected: str
) -> None:
    assert text_of("rule", [term("word", ["a"])], in_sample=in_sample) == f"Rule: sentences with *a*: {expected}"


@pytest.mark.parametrize(
    ("r2", "r2_nuisance", "expected"),
    [
        (None, None, ""),
        (float("nan"), None, ""),
        (
            0.31,
            0.22,
            " Over all sentences length and source explain 22 % of its activation, and words and constructions 9 % "
            "more.",
        ),
        (0.31, 0.31, " Over all sentences length and source explain 31 % of its activation."),
        (0.31, -0.2, " Over all sentences words and constructions explain 31 % of its activation."),
        (0.31, None, " Over all sentences 31 % of its activation is explained."),
        (-0.1, -0.2, ""),
    ],
)
def test_what_the_activation_model_explains_is_said(r2: float | None, r2_nuisance: float | None, expected: str) -> None:
    for verdict in VERDICTS:
        assert (
            text_of(verdict, [term("word", ["a"])], r2, r2_nuisance)
            == text_of(verdict, [term("word", ["a"])]) + expected
        )


@pytest.mark.parametrize("low", [None, float("nan"), 0.0, -0.1])
def test_an_activation_model_that_may_explain_nothing_is_not_said(low: float | None) -> None:
    assert text_of("weak", [], 0.3, 0.1, low) == text_of("weak", [])


def test_the_strongest_literals_of_the_activation_model_are_named() -> None:
    moves = [
        replace(term(kind, items, weight), gain=gain)
        for kind, items, weight, gain in (
            ("word", ["a"], 1.0, 0.01), ("word", ["b"], 1.0, -0.02), ("mark", [","], -2.0, 0.03),
            ("tag", ["VBD"], 1.0, 0.02), ("word", ["c"], 1.0, 0.005),
        )
    ]  # fmt: skip
    assert text_of("weak", [], 0.3, 0.2, moves=moves).endswith(
        " Over all sentences length and source explain 20 % of its activation, "
        "and no comma (,), a past-tense verb (VBD), *a* and 1 other 10 % more."
    )
    assert text_of("weak", [], 0.3, 0.0, moves=moves[:1]).endswith(
        " Over all sentences *a* explains 30 % of its activation."
    )


def test_the_literal_with_the_largest_gain_is_named_even_if_another_length_implies_it() -> None:
    terms = [replace(term("length", [str(n)]), gain=gain) for n, gain in ((16, 0.2), (8, 0.1))]
    said = text_of("rule", terms, needed=2.0)
    assert said.startswith("Rule: sentences of at most 16 words and of at most 8 words: ")
    said = text_of("rule", [replace(own, gain=0.3 - own.gain) for own in terms if own.gain], needed=2.0)
    assert said.startswith("Rule: sentences of at most 8 words: ")


def test_where_no_rule_was_found_no_literal_is_said_and_only_what_is_excluded_is_absent() -> None:
    area = Interval(0.71, 0.68, 0.74)
    texts = {
        verdict: text_of(verdict, [term("word", ["a"])], area=area)
        for verdict in VERDICTS
        if verdict not in ("rule", "source")
    }
    assert len({*texts.values()}) == len(texts)
    assert not re.search(r"[*]|nothing", "".join(texts.values()), re.IGNORECASE)
    assert "40 winners" in texts["unconfirmed"]
    assert "in 71 % of pairs (68 % to 74 %)" in texts["tendency"]
    assert ["0.1" in text and "0.55" in text for text in texts.values()].count(True) == 1


@given(st.floats(0, 1))
def test_a_percentage_is_its_share(share: float) -> None:
    assert is_percentage(percent(share), share)


@given(st.lists(st.floats(-4, 4), min_size=1, max_size=6), st.floats(-5, 5), st.floats(-5, 5))
def test_evidence_of_literals_as_stated_is_that_of_the_card(
    weights: list[float], intercept: float, threshold: float
) -> None:
    needed = evidence_needed(weights, intercept, threshold)
    for has in product((0, 1), repeat=len(weights)):
        score = intercept + sum(w * x for w, x in zip(weights, has, strict=True))
        stated = sum(abs(w) for w, x in zip(weights, has, strict=True) if (w > 0) == bool(x))
        assert score - threshold == pytest.approx(stated - needed, abs=1e-9)
