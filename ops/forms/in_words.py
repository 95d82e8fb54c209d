"""Forms of sentences in plain English."""

_BODIES = {
    "negation": "a negation",
    "imperative": "an imperative",
    "passive": "a passive",
    "quotation": "a quotation",
    "capitals": "a word in capitals",
    "digits": "a word with digits",
    "repeated letters": "a word with repeated letters",
    "emoji": "an emoji",
    "@name": "an @name",
    "#tag": "a #tag",
    "URL": "a URL",
}


def name_form(name: str, value: str) -> str:
    """Return a short name of a value of one of the properties `ops.forms.forms.NAMES`.

    >>> name_form("form", "negation"), name_form("first_word", "the"), name_form("tense", "past")
    ('negation', 'first word: the', 'tense: past')
    """
    return value if name == "form" else f"{name.replace('_', ' ')}: {value}"


def form_named(text: str) -> tuple[str, str]:
    """Return the property and the value that `name_form` put into words.

    >>> form_named("negation"), form_named("first word: the")
    (('form', 'negation'), ('first_word', 'the'))
    """
    name, _, value = text.partition(": ")
    return (name.replace(" ", "_"), value) if value else ("form", text)


def say_form(name: str, value: str, negated: bool, quoted: str) -> tuple[str, str, str]:
    """Return a form in words: `lead` and `body` follow "sentences", and `noun` is what a sentence may have.

    Args:
        name, value: the property, one of `ops.forms.forms.NAMES`, and its value.
        negated: whether the sentences lack it.
        quoted: the value as it is quoted in texts.

    >>> say_form("form", "question", False, ""), say_form("suffix", "-ness", True, "*-ness*")
    (('that are', 'questions', 'being a question'), ('without', 'a word in *-ness*', 'no word in *-ness*'))
    """
    if value == "question" and name == "form":
        return f"that are{' not' * negated}", "questions", f"{'not ' * negated}being a question"
    if name in ("first_word", "last_word"):
        verb, ordinal = ("begin", "first") if name == "first_word" else ("end", "last")
        noun = f"{'another' if negated else 'the'} {ordinal} word {'than ' * negated}{quoted}"
        return f"that {'do not ' * negated}{verb} with", quoted, noun
    if name == "tense":
        what = "a modal" if value == "modal" else f"in the {value} tense"
        noun = f"{'no ' if negated else 'a '}first verb {'that is ' * (value == 'modal')}{what}"
        return "whose", f"first verb is {'not ' * negated}{what}", noun
    body = _BODIES.get(value, f"a word in {quoted}")
    if name == "pronoun":
        person, _, number = value.partition(" ")
        body = f"a {person}-person {number} pronoun" if number else f"a {person}-person pronoun"
    if not negated:
        return "with", body, body
    return "without", body, f"no {body.partition(' ')[2]}"
