"""Every Penn code has a name, and patterns of them read as English."""

import pytest
import spacy.glossary

import ops.english
from ops.facts.examples import read_pattern
from ops.penn_names import PHRASES, TAGS, name_of, name_root, name_tags, name_tree


def test_every_tag_and_label_of_penn_has_a_name() -> None:
    """The tags of the shipped tagger, and all Penn tags and phrase labels that spaCy's glossary lists."""
    tags = set(ops.english.load().get_pipe("tagger").labels)
    assert tags <= TAGS.keys()
    known = [*spacy.glossary.GLOSSARY]
    first, last = known.index("."), known.index("_SP")  # the block on the English treebanks
    english = set(known[first : last + 1])
    assert {"VBD", "ADD", "-LRB-", "XX"} <= english
    assert english <= TAGS.keys()
    phrases = "ADJP ADVP CONJP FRAG INTJ LST NAC NP NX PP PRN PRT QP RRC S SBAR SBARQ SINV SQ UCP VP WHADJP WHADVP"
    assert {*phrases.split(), "WHNP", "WHPP", "X", "ROOT"} <= PHRASES.keys()


def test_names_differ_and_stand_with_their_article() -> None:
    names = [*TAGS.values(), *PHRASES.values()]
    alike = {"_SP", "TOP"}  # other spellings of SP and ROOT
    assert len({one for one, _ in names}) == len({several for _, several in names}) == len(names) - len(alike)
    for one, several in names:
        assert one.startswith(("a ", "an ", "the ")), one
        article, _, rest = one.partition(" ")
        assert article == "the" or (article == "an") == (rest.lstrip("-")[0] in "aeiou"), one
        assert not several.startswith(("a ", "an ", "the ")), several
        # These words negate a literal in an explanation.
        assert not {"no", "not", "without"} & set(f"{one} {several}".split()), one


@pytest.mark.parametrize(
    ("code", "count", "expected"),
    [
        ("VBD", 1, "a past-tense verb"),
        ("PRP$", 2, "two possessive pronouns"),
        ("NP-SBJ", 1, "a noun phrase"),
        ("PP=2", 1, "a prepositional phrase"),
        ("-LRB-", 1, "an opening bracket"),
        ("NN", 12, "12 singular nouns"),
        ("ZZ", 3, "three ZZs"),
    ],
)
def test_a_code_by_name(code: str, count: int, expected: str) -> None:
    assert name_of(code, count) == expected


def test_a_sequence_says_what_follows_what() -> None:
    assert name_tags(["NN", "NN", "NN"]) == "three singular nouns"
    assert name_tags(["DT", "JJ", "JJ", "DT"]) == "a determiner followed by two adjectives, then a determiner"


@pytest.mark.parametrize(
    ("pattern", "is_collapsed", "expected"),
    [
        ("(NP (NN) (NN))", False, "a noun phrase with two singular nouns"),
        ("(S (VP (VB)) (NP))", False, "a clause with a verb phrase that has a base verb, then a noun phrase"),
        ("(NP)", False, "a noun phrase"),
        ("(ROOT (NP))", False, "is only a noun phrase"),
        ("(ROOT (SBARQ))", False, "is a wh-question"),
        ("(ROOT (S (NP)))", False, "is a clause with a noun phrase"),
        ("(ROOT (NP) (VP (VB)))", False, "has a noun phrase, then a verb phrase that has a base verb at the top"),
        # The clause is merged into the root, so that a noun phrase below it may be a subject.
        ("(ROOT (NP))", True, "has a noun phrase at the top"),
    ],
)
def test_a_subtree_by_name(pattern: str, is_collapsed: bool, expected: str) -> None:
    tree = read_pattern(pattern)
    assert (name_root(tree, is_collapsed) if pattern.startswith("(ROOT") else name_tree(tree)) == expected
