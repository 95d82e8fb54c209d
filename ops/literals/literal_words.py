"""Literals in plain English, as parts of a statement about sentences."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Self

from ops.facts.examples import read_pattern
from ops.forms.in_words import say_form
from ops.penn_names import ROOTS, name_root, name_tags, name_tree

_NEGATED = re.compile(r"n['\u2019]t", re.IGNORECASE)
_CLITIC = re.compile(r"n['\u2019]t|['\u2019](?:s|re|ve|ll|d|m)", re.IGNORECASE)
_ONLY_NEGATED = frozenset({"ca", "wo", "sha"})  # words that only occur before n't
_ARTICLE = re.compile("^(?:an?|the) ")
# Characters whose Unicode name differs from the common one.
_MARKS = {
    "-": "hyphen",
    "(": "opening bracket",
    ")": "closing bracket",
    "`": "opening quotation mark",
    "[": "opening square bracket",
    "]": "closing square bracket",
    "/": "slash",
    "_": "underscore",
}


@dataclass(frozen=True)
class Term:
    """A literal of a score card.

    Attributes:
        kind: one of `ops.literals.literal.KINDS`.
        pattern: the literal as readable text; for a class of words, its most typical words.
        items: the literal's parts. For a form or value these are the property and the value, for a length the maximum
            number of words.
        negated: whether lacking it counts in favour of a winner.
        weight: log-odds of having it, below 0 if it is negated.
        share: share of the winners for which it holds as stated.
        baseline_share: the same share of the other sentences; None if there are none.
        nuisance: whether it says where a sentence comes from or how long it is.
        gain: the average precision that the card loses without it; None if it is unknown.
    """

    kind: str
    pattern: str
    items: Sequence[str]
    negated: bool
    weight: float
    share: float
    baseline_share: float | None
    nuisance: bool = False
    gain: float | None = None


@dataclass(frozen=True)
class PatternRules:
    """Those rules by which patterns were mined that change the meaning of a pattern.

    Attributes:
        word_gap: whether other words may occur between the words of a pattern.
        is_collapsed: whether a clause directly below a sentence's root was merged into it.
    """

    word_gap: bool = True
    is_collapsed: bool = False

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Return the rules of a run with these options of `mine`."""
        return cls(options["word_max_gap"] != 0, options["subtree_root"] == "collapse")


class Said(NamedTuple):
    """A literal in words: `lead` and `body` follow "sentences"; `noun` is used in lists of what a sentence may have."""

    lead: str
    body: str
    noun: str


def say(term: Term, rules: PatternRules, most: int) -> Said:
    """Return a literal in words, as stated (negated if it is negated).

    Args:
        term: the literal.
        rules: the rules by which patterns were mined.
        most: maximum number of characters of a name; a longer name is replaced by its code, which is cut if necessary.
    """
    if term.kind == "length":
        body = f"{'more than' if term.negated else 'at most'} {term.items[0]} words"
        return Said("of", body, body)
    if term.kind == "hub":
        which = "few" if term.negated else "many"
        return Said("that", f"{which} neurons share", f"{which} neurons that share it")
    if term.kind == "form":
        name, value = term.items
        return Said(*say_form(name, value, term.negated, _quoted(value, most)))
    if term.kind == "value":
        return _say_value(term, most)
    if term.kind == "subtree":
        return _say_subtree(term, rules, most)
    if term.kind == "tag":
        code = " ".join(term.items)
        named = name_tags(term.items)
        is_short = len(named) + len(code) < most
        body = f"{named} ({code})" if is_short else f"the tag{'s' * (len(term.items) > 1)} {_cut(code, most)}"
    elif term.kind == "mark":
        body = _mark(term.pattern, most)
    elif term.kind == "word_class":
        body = f"a word like {_quoted('/'.join(re.findall(r'[^,/ ]+', term.pattern)), most)}"
    else:
        body = _quoted(join_words(term.items, rules.word_gap), most)
    return _with(body, term.negated)


def join_words(items: Sequence[str], has_gap: bool) -> str:
    """Return words in order, joining those that are written together; dots show where other words may occur.

    >>> join_words(["do", "n't", "be"], False), join_words(["ca", "n't", "be"], True), join_words(["see", "for"], True)
    ("don't be", "can't … be", 'see … for')
    """
    text = items[0]
    for before, item in pairwise(items):
        is_negation = _NEGATED.fullmatch(item) and before.lower() in _ONLY_NEGATED
        is_clitic = not has_gap and _CLITIC.fullmatch(item)
        text += item if is_negation or is_clitic else f" … {item}" if has_gap else f" {item}"
    return text


def _with(body: str, is_negated: bool) -> Said:
    return Said("without", body, f"no {_ARTICLE.sub('', body)}") if is_negated else Said("with", body, body)


def _say_value(term: Term, most: int) -> Said:
    if len(term.items) == 1:
        return _with(f"a value of {_quoted(term.items[0], most)}", term.negated)
    name, value = term.items
    quoted = _quoted(value, most)
    if name == "dataset":
        lead, noun = ("not from", "another data set than") if term.negated else ("from", "the data set")
        return Said(lead, f"the data set {quoted}", f"{noun} {quoted}")
    name = _cut(name, most)
    return Said("whose", f"{name} is {'not ' * term.negated}{quoted}", f"{name} {'other than ' * term.negated}{quoted}")


def _say_subtree(term: Term, rules: PatternRules, most: int) -> Said:
    tree, code = read_pattern(term.pattern), term.pattern
    is_whole = tree.label in ROOTS and bool(tree.children)
    named = name_root(tree, rules.is_collapsed) if is_whole else name_tree(tree)
    if len(named) + len(code) >= most:
        return _with(f"the subtree {_cut(code, most)}", term.negated)
    if not is_whole:
        return _with(f"{named} {code}", term.negated)
    verb, _, rest = f"{named} {code}".partition(" ")
    plural, without, gerund = {"is": ("are", "are not", "being"), "has": ("have", "do not have", "having")}[verb]
    noun = f"{'not ' * term.negated}{gerund} {rest}"
    return Said(f"that {without if term.negated else plural}", rest, noun)


def _mark(mark: str, most: int) -> str:
    """Return the name of a punctuation mark.

    >>> _mark("?", 99), _mark("!", 99), _mark("?!", 99)
    ('a question mark (?)', 'an exclamation mark (!)', 'the mark *?!*')
    """
    name = _MARKS.get(mark, unicodedata.name(mark, "").lower() if len(mark) == 1 else "")
    if not name:
        return f"the mark {_quoted(mark, most)}"
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name} ({mark})"


def _quoted(text: str, most: int) -> str:
    text = _cut(text, most)
    return f"\u201c{text}\u201d" if "*" in text else f"*{text}*"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
