"""What is written of an explanation: read back, it says the same literals, the same rule and the same shares."""

import re
from collections.abc import Iterator, Sequence
from itertools import product
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.explain.kinds import KINDS, NUISANCE
from ops.explain.wording import MOST_CHARACTERS, PatternRules, Term, evidence_needed, explanation_text, percent

CLITICS = ("n't", "'s", "'re", "'ve", "'ll", "'d", "'m")
WORDS = ("do", "ca", "wo", "see", "for", "of", "the", "1,000", "**kwargs", "*", "and", "or", "with", "x" * 90, "%")
TAGS = ("VB", "VBD", "VBP", "NN", "IN", "PRP$", "ADD", "-LRB-", "CD", "QQ")
TREES = ("(ROOT (NP))", "(ROOT (S (VP)))", "(ROOT (NP) (VP (VB) (NN)))", "(NP (NN) (NN))", "(S (VP (VB) (NP (DT))))")
TREES = (*TREES, f"(NP {' '.join(['(NP (DT) (NN))'] * 12)})")
MARKS = ("?", "!", "(", ")", "-", "_", "?!", "\u2026", ",", ".", "*")
VALUES = ("space", "sci/tech", "a or b", "v" * 150, "of at most 5 words")
KEYS = ("topic", "author", "k" * 99)


class Literal(NamedTuple):
    """What a literal says: its kind, what it is about, and whether it is negated."""

    kind: str
    content: str
    negated: bool


class Read(NamedTuple):
    """What a text says of the sentences: all of the first literals hold, and `least` of the others (0: enough)."""

    required: list[Literal]
    others: list[Literal]
    least: int
    more: int
    idle: list[Literal]


def some_terms(rng: Random, most: int) -> list[Term]:
    """Return random terms of all kinds, all with different meanings."""
    terms: dict[tuple[str, str], Term] = {}
    for _ in range(rng.randint(1, most)):
        kind = rng.choice(KINDS)
        words = [rng.choice(WORDS), *rng.choices([*WORDS, *CLITICS], k=rng.randint(0, 3))]
        key, typical = rng.choice(("dataset", *KEYS)), rng.choices(("exam", "school", "x" * 50), k=3)
        items = {
            "word": words,
            "tag": rng.choices(TAGS, k=rng.randint(1, 5)),
            "subtree": [rng.choice(TREES)],
            "mark": [rng.choice(MARKS)],
            "value": [key, rng.choice(VALUES)],
            "length": [str(rng.randint(1, 99))],
            "topic": typical,
            "hub": ["hub"],
        }[kind]
        joint = {"value": ": ", "topic": ", "}.get(kind, " ")
        pattern = f"at most {items[0]} words" if kind == "length" else joint.join(items)
        negated, size = rng.random() < 0.4, rng.choice((1.0, 2.0, rng.uniform(0.1, 4.0)))
        share, other = (rng.choice((0.0, 1.0, rng.random(), 10 ** -rng.uniform(0, 7))) for _ in range(2))
        terms[kind, pattern] = Term(kind, pattern, items, negated, -size if negated else size, share, other)
    return list(terms.values())


def atoms(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the literals that a text names: the text since the previous literal, the kind, and the literal itself."""
    place = 0
    named = re.compile(
        r"[*](?P<q>[^*]*)[*]|\u201c(?P<c>[^\u201d]*)\u201d|\((?P<mark>[^A-Za-z0-9\s])\)"
        r"|(?P<length>(?:at most|more than) \d+) words|(?P<hub>many|few) neurons (?:share|that share it)"
        r"|\btags? (?P<bare>(?:[A-Z$-]+ )*[A-Z$-]*…?)(?= [a-z]|[,:.]|$)|\bsubtree (?P<cut>\([A-Z() $-]*…)|(?P<code>\()"
    )
    while found := named.search(text, place):
        before, end = text[place : found.start()], found.end()
        if found["code"]:
            end = closing(text, found.start())
            code = text[found.start() : end]
            bare = " (" not in code and not before.endswith(" subtree ")
            yield before, "tag" if bare else "subtree", code[1:-1] if bare else code
        elif found["q"] is not None or found["c"] is not None:
            quoted = found["q"] if found["q"] is not None else found["c"]
            kinds = {r"a? ?word like": "topic", "the mark|no mark": "mark", r"data set(?: than)?": "dataset"}
            kind = next((kind for said, kind in kinds.items() if re.search(f"(?:{said}) $", before)), "word")
            key = re.search(r"(\S+) (?:is |is not |other than |)$", before) if kind == "word" else None
            is_value = key is not None and (key[1] in KEYS or key[1].startswith("kkk"))
            yield before, "value" if is_value else kind, f"{key[1]}={quoted}" if key and is_value else quoted
        else:
            kind = next(name for name in ("mark", "length", "hub", "bare", "cut") if found[name] is not None)
            yield before, {"bare": "tag", "cut": "subtree"}.get(kind, kind), found[kind]
        place = end


def closing(text: str, start: int) -> int:
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if not depth:
            return place + 1
    raise AssertionError(text)


def literals(text: str) -> list[Literal]:
    found = []
    for before, kind, content in atoms(text):
        negated = bool(re.search(r"\b(?:without|no|not|other than|another)\b", before))
        if kind in ("length", "hub"):
            negated, content = content.startswith(("more", "few")), re.sub(r"\D", "", content)
        if kind == "dataset":
            kind, content = "value", f"dataset={content}"
        found.append(Literal(kind, content, negated))
    return found


def read(conditions: str) -> Read:
    """Return what conditions say, those that follow "sentences"."""
    some = re.fullmatch(
        r"(?P<first>.*?,? ?(?:and )?)with (?:enough|at least (?P<least>[a-z]+)) of these: (?P<of>.*)",
        conditions,
    )
    numbers = ("", "", "two", "three", "four", "five", "six", "seven", "eight")
    more = sum(int(n) for n in re.findall(r"(?:and|or) (\d+) more condition", conditions))
    if some:
        least = numbers.index(some["least"]) if some["least"] else 0
        return Read(literals(some["first"]), literals(some["of"]), least, more, [])
    first, either, second = conditions.rpartition(", and either ")
    if either:
        return Read(literals(first), literals(second), 1, more, [])
    found, joined = literals(conditions), [before for before, *_ in atoms(conditions)]
    if any(re.match(",? or ", before) for before in joined) or re.search(r"or \d+ more conditions?$", conditions):
        return Read([], found, 1, more, [])
    return Read(found, [], 0, more, [])


def expected(term: Term, has_gap: bool = True) -> Literal:
    content = {
        "value": "=".join(term.items), "length": term.items[0], "hub": "", "topic": "/".join(term.items),
        "word": written(term.items, has_gap),
    }.get(term.kind, term.pattern)  # fmt: skip
    return Literal(term.kind, content, term.negated)


def written(items: Sequence[str], has_gap: bool) -> str:
    text = (" … " if has_gap else " ").join(items)
    if has_gap:
        return re.sub(r"(?<![^ ])(ca|wo) … n't", r"\1n't", text)
    for clitic in CLITICS:
        text = re.sub(f" {clitic}(?= |$|'|n't)", clitic, text)
    return text


def says(found: Literal, wanted: Literal) -> bool:
    """Whether a literal is the one that was wanted, the end of a long name aside."""
    if (found.kind, found.negated) != (wanted.kind, wanted.negated):
        return False
    pairs = zip(found.content.split("=", 1), wanted.content.split("=", 1), strict=True)
    return all(own == other or (own[1:].endswith("…") and other.startswith(own[:-1])) for own, other in pairs)


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


def places_of(found: list[Literal], given: list[Term], has_gap: bool) -> list[int]:
    """Return which terms a text names, each once."""
    wanted = [expected(term, has_gap) for term in given]
    places = []
    for own in found:
        fitting = [i for i, other in enumerate(wanted) if says(own, other) and i not in places]
        assert fitting, (own, wanted)
        places.append(fitting[0])
    return places


BODY = re.compile(
    r"(?:Too few test winners to tell\. Untested: s|S)entences (?P<conditions>.*?)"
    r": (?P<share>[^:]*? %) of its winners(?:, (?P<other>[^:]*? %) of other sentences)?\."
    r"(?: More so (?P<idle>.*?)\.)?(?P<range> Explains .*| Over its .*)?"
)


def test_a_text_says_its_literals_how_they_combine_and_its_shares() -> None:
    for seed in range(1_500):
        check_text(Random(seed))


def check_text(rng: Random) -> None:
    given_terms, has_gap, verdict = some_terms(rng, 8), rng.random() < 0.5, rng.choice(("explained", "weak"))
    share, other, r2 = rng.random(), rng.choice((None, rng.random() ** 9)), rng.choice((None, rng.uniform(-1, 1)))
    sizes = [abs(t.weight) for t in given_terms]
    needed = rng.uniform(0, 1.05) * sum(sizes)
    text = explanation_text(
        verdict, given_terms, share, other, r2, 0.1, needed=needed, rules=PatternRules(word_gap=has_gap)
    )
    assert len(text) <= MOST_CHARACTERS
    found = BODY.fullmatch(text)
    assert found is not None, text
    assert is_percentage(found["share"], share), text
    assert (found["other"] is None) == (other is None)
    assert other is None or is_percentage(found["other"], other), text
    rule = read(found["conditions"])
    required, others = (places_of(own, given_terms, has_gap) for own in (rule.required, rule.others))
    idle = places_of(literals(found["idle"] or ""), given_terms, has_gap)
    assert len({*required, *others, *idle}) == len(required) + len(others) + len(idle), text
    assert len(required) + len(others) >= 1
    if rule.more or not 0 < needed <= sum(sizes):
        return
    for holds in product((False, True), repeat=len(sizes)):
        if not one_length(given_terms, holds):
            continue
        total = sum(size for size, has in zip(sizes, holds, strict=True) if has)
        if abs(total - needed) < 1e-6:
            return
        called = all(holds[i] for i in required)
        if others and rule.least:
            called = called and sum(holds[i] for i in others) >= rule.least
        if others and not rule.least:  # enough of them: none at all never is, all of them are
            some = sum(holds[i] for i in others)
            assert total < needed or (called and some), text
            assert total >= needed or not called or some < len(others), text
        else:
            assert called == (total >= needed), (text, holds)


def one_length(terms: Sequence[Term], holds: Sequence[bool]) -> bool:
    """Whether a sentence of some length can have the literals that hold, and lack the others."""
    own = [(t, has) for t, has in zip(terms, holds, strict=True) if t.kind == "length"]
    return any(all(((n <= int(t.items[0])) != t.negated) == has for t, has in own) for n in range(101))


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
        ([Term("topic", "exam, school", ["exam", "school", "work"], False, 1.0, 0.5, 0.1)], 1.0,
         "with a word like *exam/school*"),
        ([term("hub", ["hub"])], 1.0, "that many neurons share"),
    ],
)  # fmt: skip
def test_how_literals_combine_is_said(given_terms: list[Term], needed: float | None, expected: str) -> None:
    text = explanation_text("explained", given_terms, 0.25, None, None, None, needed=needed)
    assert text.split(": 25 %")[0] == f"Sentences {expected}"


def test_a_literal_that_never_matters_is_said_apart_and_a_collapsed_root_has_what_its_clause_has() -> None:
    for given_terms, needed, idle in (
        ([term("word", ["a"], 3.0), term("word", ["b"])], 2.0, "with *b*"),
        ([term("length", ["10"], -1.0), term("length", ["20"], -1.0)], 1.0, "of more than 20 words"),
    ):
        text = explanation_text("explained", given_terms, 0.5, 0.1, None, None, needed=needed)
        assert text.endswith(f" More so {idle}.")
    rules = PatternRules.of({"word_max_gap": 0, "subtree_root": "collapse"})
    assert rules == PatternRules(word_gap=False, is_collapsed=True)
    text = explanation_text("explained", [term("subtree", ["(ROOT", "(NP))"])], 0.5, 0.1, None, None, rules=rules)
    assert text.startswith("Sentences that have a noun phrase at the top (ROOT (NP)): 50 %")


def test_nuisance_is_said_literal_by_literal() -> None:
    for seed in range(500):
        check_nuisance(Random(seed))


def check_nuisance(rng: Random) -> None:
    given_terms, r2, r2_nuisance = some_terms(rng, 9), rng.choice((None, rng.uniform(-1, 1))), rng.uniform(-1, 1)
    text = explanation_text("nuisance", given_terms, 0.5, 0.1, r2, r2_nuisance)
    assert len(text) <= MOST_CHARACTERS
    assert text.startswith("Nothing beyond length and source")
    own = [t for t in given_terms if t.kind in NUISANCE]
    shares = r"\(([\d.]+ %|under 0.001 %)(?: of its winners)?, ([^)]*? %)(?: of other sentences)?\)"
    pieces = re.findall(rf"(?:: sentences|;) (.*?) {shares}", text)
    assert len(pieces) >= min(len(own), 1)
    for piece, share, other in pieces:
        (place,) = places_of(literals(piece), own, True)
        assert is_percentage(share, own[place].share)
        assert is_percentage(other, own[place].baseline_share or 0.0)
    more = re.search(r"; (\d+) more conditions?\.", text)
    assert len(pieces) + (int(more[1]) if more else 0) == len(own)


@pytest.mark.parametrize(
    ("r2", "r2_nuisance", "expected"),
    [
        (None, None, ""),
        (float("nan"), None, ""),
        (0.31, 0.22, " Explains 31 % of its activation, 9 % beyond length and source."),
        (0.31, 0.31, " Explains 31 % of its activation, none of it beyond length and source."),
        (0.31, -0.2, " Explains 31 % of its activation, all of it beyond length and source."),
        (0.31, None, " Explains 31 % of its activation."),
        (-0.1, -0.2, " Explains none of its activation."),
    ],
)
def test_the_range_is_said(r2: float | None, r2_nuisance: float | None, expected: str) -> None:
    text = explanation_text("explained", [term("word", ["a"])], 0.5, 0.1, r2, r2_nuisance)
    assert text == f"Sentences with *a*: 50 % of its winners, 10 % of other sentences.{expected}"
    for verdict in ("none", "weak"):
        said = explanation_text(verdict, [], None, None, r2, r2_nuisance).partition(".")[2]
        wanted = re.sub("Explains (.*?) of its activation", r"Over its whole range \1 is explained", expected)
        assert said == ("" if "none is explained" in wanted else wanted)


def test_where_nothing_was_found_no_literal_is_said() -> None:
    none = explanation_text("none", [term("word", ["a"])], 0.5, 0.1, None, None)
    weak, nuisance = (explanation_text(verdict, [], None, None, None, None) for verdict in ("weak", "nuisance"))
    assert [text.split()[0] for text in (none, weak, nuisance)] == ["No", "Too", "Nothing"]
    assert not re.search(r"[*%]", none + weak + nuisance)


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
