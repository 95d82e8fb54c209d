"""Renders pages from templates: all text from the corpus is escaped, and unsafe control characters are spelled out."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ops.errors import visible
from ops.facts import text
from ops.facts.text import said_wins, token_text
from ops.facts.verdicts import CAUTION, evidence, headline, said_numbers
from ops.report.shading import Piece

FOLDER = Path(__file__).parent / "templates"
ASSETS = ("atlas.css", "atlas.js")


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with `digits` decimal places, or a dash for null."""
    return "-" if value is None else f"{value:,.{digits}f}"


def share(value: float | None) -> str:
    """Return a share as a percentage, or a dash for null.

    >>> share(0.125), share(0.0034), share(None)
    ('12.5 %', '0.34 %', '-')
    """
    return text.number(value, ".2f %" if value is not None and 0 < value < 0.01 else ".1f %")


def shaded(pieces: Sequence[Piece], scale: float) -> Markup:
    """Return the pieces of a sentence as HTML, each in its colour; the pieces of the peak word are underlined.

    >>> str(shaded([Piece("a", 1.0, True), Piece(" <", None, False)], 2.0))
    '<i class="p4 peak" title=1.00>a</i> &lt;'
    """
    parts: list[str] = []
    for piece, value, is_peak in pieces:
        colour = tint(value, scale)
        html: str = in_lines(piece)
        if colour or is_peak:
            # A page has a thousand of these, so they are short.
            title = "" if value is None else f" title={number(value, 2)}"
            name = f'"{colour} peak"' if is_peak else colour
            html = f"<i class={name}{title}>{html}</i>"
        parts.append(html)
    return Markup("".join(parts))


def in_lines(text: str) -> Markup:
    """Return a text as HTML with a mark at each line end, after which style sheets may break the line.

    >>> str(in_lines("a <\\r\\n\\tb"))
    'a &lt;<span class="end">⏎</span>\\n\\tb'
    """
    parts = re.split(r"\r?\n", text)
    kept = ("\t".join(map(visible, part.split("\t"))) for part in parts)
    return Markup('<span class="end">\u23ce</span>\n').join(kept)


def tint(value: float | None, scale: float) -> str:
    """Return the CSS class of an activation's colour: `p1` to `p9` above zero, `n1` to `n9` below, empty near zero.

    The scale is centred at zero. Activations whose absolute value is `scale` or more get the strongest colour.

    >>> tint(2.0, 2.0), tint(-1.0, 2.0), tint(0.0, 2.0), tint(None, 2.0)
    ('p9', 'n4', '', '')
    """
    if value is None or not scale > 0:
        return ""
    step = min(round(9 * abs(value) / scale), 9)
    return f"{'p' if value > 0 else 'n'}{step}" if step else ""


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)
_ENVIRONMENT.globals["CAUTION"] = CAUTION
_ENVIRONMENT.filters |= {
    "seen": visible,
    "in_lines": in_lines,
    "on_one_line": text.on_one_line,
    "number": number,
    "share": share,
    "lift": text.lift,
    "tail": text.tail,
    "in_brief": text.in_brief,
    "said_numbers": said_numbers,
    "headline": headline,
    "evidence": evidence,
    "token_text": token_text,
    "said_wins": said_wins,
    "shaded": shaded,
    "words_of": {"top": "highest", "bottom": "lowest"}.__getitem__,
}


def render(template: str, context: dict[str, Any]) -> str:
    """Return a page from its template, such as `neuron.html`, with these variables."""
    return _ENVIRONMENT.get_template(template).render(context)
