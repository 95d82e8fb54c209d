"""Format numbers and strings for columns, wrap text in lines, and write lifts and q values."""

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from string import Formatter
from typing import Any

from ops.outputs.names import with_spaces


def number(value: float | None, form: str) -> str:
    """Return a number, or a dash for null. With a form that ends in a percent sign, it is a share in percent.

    >>> number(0.25, ".3f"), number(None, ".3f"), number(0.125, ".3g %")
    ('0.250', '-', '12.5 %')
    """
    if value is None:
        return "-"
    return f"{100 * value:{form[:-2]}} %" if form.endswith("%") else format(value, form)


def short_percent(share: float | None) -> str:
    """Return a share in percent with at most two significant digits below 10 %, or a dash for null.

    >>> short_percent(0.0831), short_percent(0.567), short_percent(0.0), short_percent(1.0), short_percent(None)
    ('8.3 %', '57 %', '0 %', '100 %', '-')
    """
    return number(share, ".2g %" if share is not None and 0 < abs(share) < 0.1 else ".0f %")


def interval(low: float | None, high: float | None, form: str) -> str:
    """Return an interval in parentheses after a space, or nothing if an end is null."""
    return "" if low is None or high is None else f" ({low:{form}} to {high:{form}})"


def lift(value: float | None) -> str:
    """Return a lift with about three digits, or a dash for null."""
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def q_value(value: float | None) -> str:
    """Return a false discovery rate, or a dash for null. A very small one is written as a power of ten."""
    if value is None:
        return "-"
    return f"{value:.3f}" if value >= 0.001 else "<1e-99" if value < 1e-99 else f"{value:.0e}"


def tail(value: float | None) -> str:
    """Return the tail of an activation with two digits, or a dash for null.

    >>> tail(0.00333), tail(2e-7), tail(None)
    ('0.0033', '2e-07', '-')
    """
    if value is None:
        return "-"
    return f"{value:.2g}" if value >= 1e-4 else f"{value:.0e}"


def activation(value: float | None) -> str:
    """Return an activation with four decimal places, with two digits if these would show fewer, a dash for null.

    >>> activation(-0.58664), activation(-0.000179), activation(3.14159e-8), activation(0.0)
    ('-0.5866', '-0.00018', '3.1e-08', '0.0000')
    """
    if value is None:
        return "-"
    size = abs(value)
    return f"{value:.4f}" if size >= 1e-3 or not value else f"{value:.5f}" if size >= 1e-4 else f"{value:.1e}"


def wrap(text: str, width: int) -> str:
    """Return a text in lines of at most this width. A longer word gets a line of its own."""
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


_ON_ONE_LINE = str.maketrans({"\n": "\u23ce", "\r": " ", "\t": " "})


def on_one_line(text: str) -> str:
    """Return a text of the same length with a mark for each line end.

    >>> on_one_line("if x:\\n\\treturn")
    'if x:⏎ return'
    """
    return text.translate(_ON_ONE_LINE)


def shorten(text: str, width: int) -> str:
    """Return a text on one line, cut to this width, with dots at the end if it was cut."""
    text = on_one_line(text)
    return text if len(text) <= width else text[: max(width - 3, 1)] + "..."


def enumerated(pieces: Sequence[str], conjunction: str) -> str:
    """Return pieces of text as an enumeration.

    >>> enumerated(["a", "b", "c"], "and"), enumerated(["a"], "or")
    ('a, b and c', 'a')
    """
    return f"{', '.join(pieces[:-1])} {conjunction} {pieces[-1]}" if len(pieces) > 1 else pieces[0]


# What an explanation says in numbers, and what it says of the activation over all sentences.
_NUMBERS = re.compile(
    r" Over all sentences .*$| \((?:under )?[\d.]+ %[^()]*\)| in [\d.]+ % of pairs| \(held-out F1 [^()]*\)"
    r"|: (?:under )?[\d.]+ % of its winners(?:, (?:under )?[\d.]+ % of other sentences)?"
    r"(?:\. The cards of the folds find [^()]*)?(?= \(held-out)"
)


def in_brief(explanation: str) -> str:
    """Return the text of an explanation without its numbers.

    >>> in_brief("Typically *nap* (9 % of its winners, 1 % expected), *bed* (3 %, 1 %). Rule: sentences with *bed*: "
    ...          "3 % of its winners, 1 % of other sentences (held-out F1 0.20).")
    'Typically *nap*, *bed*. Rule: sentences with *bed*.'
    >>> in_brief("Rule: sentences with *a*: 3 % of its winners, 1 % of other sentences. The cards of the folds find "
    ...          "20 % and 4 % (held-out F1 0.20).")
    'Rule: sentences with *a*.'
    """
    return _NUMBERS.sub("", explanation)


def plain(name: str) -> str:
    """Return the name of a kind, a property or a verdict in words."""
    return name.replace("_", " ")


def said_wins(sentence: Mapping[str, Any]) -> str:
    """Say for how many other neurons a sentence wins.

    >>> said_wins({"wins": 582})
    'also wins for 581 other neurons'
    """
    return f"also wins for {sentence['wins'] - 1:,} other neurons"


def token_text(token: str) -> str:
    """Return a token as a reader sees it: in quotation marks, and with a space where the vocabulary marks one."""
    return f'"{with_spaces(token)}"'


_FORMS: dict[str, Callable[[Any], str]] = {
    "activation": activation, "tail": tail, "lift": lift, "q": q_value, "words": " ".join, "plain": plain,
}  # fmt: skip


class _Filled(Formatter):
    def format_field(self, value: Any, form: str) -> str:
        return _FORMS[form](value) if form in _FORMS else number(value, form)


_FILLED = _Filled()


def filled(form: str, row: Mapping[str, Any]) -> str:
    """Return a format with the values of a row, whose numbers may be null.

    The form of a value is one of `number`, or one of `_FORMS`, such as `q` for a q value.

    >>> filled("{count:,} of {n:,}, {share:.1f %}, {lift:lift}", {"count": 1200, "n": 2000, "share": 0.6, "lift": None})
    '1,200 of 2,000, 60.0 %, -'
    """
    return _FILLED.vformat(form, (), row)
