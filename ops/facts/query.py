"""The syntax of a search: a phrase, the kind of thing that it names, and filters."""

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ops.errors import InputError, one_line
from ops.facts import verdicts
from ops.forms.forms import FORMS
from ops.schema.verdicts import VERDICTS

MOST_CHARACTERS = 200
TEXT = "text"  # the kind of a search for winners by a part of their sentence
# The filters by a number, each with the comparison that applies if none is written.
NUMBERS = {"lift": ">=", "g2": ">=", "q": "<=", "score": ">="}
AUDITED = tuple(name for name in verdicts.AUDITED if name not in VERDICTS)  # only audits give these verdicts
CHOICES = {"pole": ("top", "bottom"), "verdict": (*VERDICTS, *AUDITED)}  # the filters by one of a few names
# The script of a static site reads searches with the same expressions.
FILTER = r'(?:^|\s)(lift|g2|q|score|layer|pole|verdict):\s*(>=|<=|>|<)?\s*([^\s"]+)'
# A form's fields for filters, and the filter that each stands for.
FIELDS = {
    "pole": "pole:", "layer": "layer:", "verdict": "verdict:", "lift": "lift:>=", "below": "q:<=", "score": "score:>=",
}  # fmt: skip
QUOTED = r'"([^"]*)"'
PLURAL = rf"^({'|'.join((*FORMS, 'url', 'emoji'))})s$"  # of forms and shapes, as people ask for them
# The person of pronouns, a property whose values leave out the word.
PERSON, PRONOUN = r"^(first|second|third) person", r"pronoun \1"
KIND = r"^((?:meta:)?[A-Za-z][\w -]*?)\s*:(?!//|:)\s*(.*)$"
# `-` and `_` within a name are spaces.
JOINED, APART = r"(\w)[-_](\w)", r"\1 \2"


class Query(NamedTuple):
    """What is searched for.

    Attributes:
        text: the phrase as written; empty if only filters are given.
        kind: the kind or property that the phrase must be of; empty for any.
        is_quoted: whether the phrase is only text, and not the name of anything.
        numbers: the filters by a number: name, comparison, limit.
        verdict, pole, layer: the other filters; empty or None if they do not apply.
    """

    text: str = ""
    kind: str = ""
    is_quoted: bool = False
    numbers: tuple[tuple[str, str, float], ...] = ()
    verdict: str = ""
    pole: str = ""
    layer: int | None = None


def normalised(text: str) -> str:
    """Return a name in lower case, with spaces for the hyphens and underscores within it.

    >>> normalised("Wh-question"), normalised("first_word"), normalised("-ness")
    ('wh question', 'first word', '-ness')
    """
    return re.sub(JOINED, APART, text.lower(), flags=re.ASCII)


def parse_query(written: str) -> Query:
    """Return the query that a text means.

    The text is a phrase, after the kind of thing and a colon if only that is meant (`tag: VBN`, `sentiment: negative`).
    Filters may stand anywhere: `lift:>2`, `q:<0.01`, `g2:>20`, `score:>0.7`, `layer:3`, `pole:top`, `verdict:rule`.
    Text in quotation marks is searched as it is.

    Raises:
        InputError: a filter has no valid value, or there is nothing to search for.

    >>> query = parse_query("sentiment: negative lift:>2 pole:top")
    >>> query.text, query.kind, query.numbers, query.pole
    ('negative', 'sentiment', (('lift', '>', 2.0),), 'top')
    """
    if len(written) > MOST_CHARACTERS:
        raise InputError(f"the search is longer than {MOST_CHARACTERS} characters; shorten it")
    quoted = re.search(QUOTED, written)
    rest = written if quoted is None else f"{written[: quoted.start()]} {written[quoted.end() :]}"
    filters: dict[str, Any] = {}
    for name, comparison, value in re.findall(FILTER, rest):
        filters |= _filter(name, comparison, value, filters)
    rest = " ".join(re.sub(FILTER, " ", rest).split())
    named = re.match(KIND, rest)
    kind, text = ("", rest) if named is None else (normalised(named[1]).replace(" ", "_"), named[2])
    if quoted is not None:
        if text:
            raise InputError(f"{one_line(text, 40)!r} next to a quoted text; search for one of them")
        text = " ".join(quoted[1].split())
    if not text and (kind or quoted is not None):
        raise InputError(f"nothing follows {one_line(rest, 40) or 'the filters'}; write a word or a value after it")
    if kind and quoted is None and re.match(r"[<>]=?\s*\d", text):
        raise InputError(f"{one_line(rest, 40)}: compares no number; only {', '.join(NUMBERS)} are numbers")
    query = Query(text, kind, quoted is not None, **filters)
    if kind == TEXT and any(name != "score" for name, *_ in query.numbers):
        raise InputError("text: finds sentences, which have no lift, g2 or q; leave these filters out")
    if not text and any(name != "score" for name, *_ in query.numbers):
        raise InputError("a filter by lift, g2 or q needs a word, a tag or a value to search for")
    if not text and not query.verdict and not query.numbers:
        raise InputError("nothing to search for; write a word, a tag, a value or verdict:rule")
    return query


def parse_form(given: Mapping[str, str]) -> Query | None:
    """Return the query of a form's fields `q` (the text) and `FIELDS`, or None if all are empty.

    Raises:
        InputError: a field is not valid.
    """
    filters = []
    for field, start in FIELDS.items():
        value = given.get(field, "").strip()
        if re.search(r'[\s"]', value):
            raise InputError(f"{field} {one_line(value, 40)!r}: is not one word or number")
        filters += [start + value] if value else []
    written = " ".join([given.get("q", "").strip(), *filters]).strip()
    return parse_query(written) if written else None


def _filter(name: str, comparison: str, value: str, others: dict[str, Any]) -> dict[str, Any]:
    """Return the field of a query that a filter sets."""
    if name in NUMBERS:
        try:
            limit = float(value)
        except ValueError:
            limit = math.nan
        if not math.isfinite(limit):
            given = f"{name}:{comparison}{one_line(value, 40)}"
            raise InputError(f"{given}: there is no number; write it as {name}:{NUMBERS[name]}0.5")
        return {"numbers": (*others.get("numbers", ()), (name, comparison or NUMBERS[name], limit))}
    if comparison:
        raise InputError(f"{name}:{comparison} compares no number; write {name}:VALUE")
    if name in others:
        raise InputError(f"{name}: is given twice; give it once")
    known = CHOICES.get(name)
    if known and value.lower() not in known:
        raise InputError(f"{name}:{one_line(value, 40)} is unknown; it is one of {', '.join(known)}")
    if known:
        return {name: value.lower()}
    if not (value.isascii() and value.isdigit() and len(value) <= 4):
        raise InputError(f"layer:{one_line(value, 40)} is not the number of a layer; layers count from 1")
    return {name: int(value)}
