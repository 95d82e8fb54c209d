"""Each form reads well, with and without "not"."""

import pytest

from ops.literals.literal_words import PatternRules, Said, Term, say

SAID = {
    ("form", "negation"): ("with a negation", "without a negation", "no negation"),
    ("form", "question"): ("that are questions", "that are not questions", "not being a question"),
    ("form", "imperative"): ("with an imperative", "without an imperative", "no imperative"),
    ("form", "passive"): ("with a passive", "without a passive", "no passive"),
    ("form", "quotation"): ("with a quotation", "without a quotation", "no quotation"),
    ("first_word", "the"): ("that begin with *the*", "that do not begin with *the*", "another first word than *the*"),
    ("last_word", "now"): ("that end with *now*", "that do not end with *now*", "another last word than *now*"),
    ("pronoun", "first singular"): (
        "with a first-person singular pronoun",
        "without a first-person singular pronoun",
        "no first-person singular pronoun",
    ),
    ("pronoun", "second"): (
        "with a second-person pronoun",
        "without a second-person pronoun",
        "no second-person pronoun",
    ),
    ("tense", "past"): (
        "whose first verb is in the past tense",
        "whose first verb is not in the past tense",
        "no first verb in the past tense",
    ),
    ("tense", "modal"): (
        "whose first verb is a modal",
        "whose first verb is not a modal",
        "no first verb that is a modal",
    ),
    ("prefix", "un-"): ("with a word in *un-*", "without a word in *un-*", "no word in *un-*"),
    ("suffix", "-ness"): ("with a word in *-ness*", "without a word in *-ness*", "no word in *-ness*"),
    ("shape", "capitals"): ("with a word in capitals", "without a word in capitals", "no word in capitals"),
    ("shape", "digits"): ("with a word with digits", "without a word with digits", "no word with digits"),
    ("shape", "emoji"): ("with an emoji", "without an emoji", "no emoji"),
    ("shape", "@name"): ("with an @name", "without an @name", "no @name"),
    ("shape", "#tag"): ("with a #tag", "without a #tag", "no #tag"),
    ("shape", "URL"): ("with a URL", "without a URL", "no URL"),
}


def said(name: str, value: str, negated: bool) -> Said:
    return say(Term("form", value, [name, value], negated, 1.0, 0.5, 0.1), PatternRules(), 40)


@pytest.mark.parametrize(("name", "value"), SAID)
def test_forms_in_words(name: str, value: str) -> None:
    has, lacks, without = SAID[name, value]
    found = said(name, value, False), said(name, value, True)
    assert [f"{own.lead} {own.body}" for own in found] == [has, lacks]
    assert found[1].noun == without


def test_nouns_of_forms() -> None:
    assert said("tense", "future", False).noun == "a first verb in the future tense"
    assert said("first_word", "a*b", False).noun == "the first word \u201ca*b\u201d"
    assert said("form", "question", False).noun == "being a question"
    assert said("form", "imperative", False).noun == "an imperative"
