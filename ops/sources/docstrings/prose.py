"""The prose of a docstring: its text without code, tables, fields and markup."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from ops.sources.docstrings.sentences import prose_sentences

# Titles of sections with names, code or citations, in the styles of NumPy ("Parameters", underlined) and Google
# ("Args:").
_FIELDS = (
    "args|params?|parameter|keyword args|kwargs|returns?|return type|return values?|yields?|receives?|"
    "raises?|throws|warns|exceptions?|attributes?|properties|fields|members|variables|constants|methods|"
    "functions|classes|options|citations?|inputs?|outputs?|shapes?|dimensions?|usage|example usage|"
    "sample usage|synopsis|see also|references?|todos?|authors?|default values?|requirements|"
    "dependencies|available [\\w ]+|supported [\\w ]+|[\\w ]*(?:arguments|parameters|examples?)"
)
_FIELD_TITLE = re.compile(rf"(?:{_FIELDS})", re.IGNORECASE)
_GOOGLE = re.compile(rf"(?:\*\*)?(?:{_FIELDS})(?:\*\*)?\s*:{{1,2}}(?:\*\*)?", re.IGNORECASE)
_NOTES = re.compile(r"(?:notes?|warnings?|important|tips?|caution|remarks?|description)\s*::?\s*", re.IGNORECASE)
_FIELD_LINE = re.compile(
    r"[:@](?:param|parameter|arg|argument|key|keyword|type|returns?|rtype|raises?|except|exception|yields?|ytype|ivar|"
    r"cvar|var|vartype|meta|see|note|todo|since|author|version)\b|(?:returns?|raises|yields|args?|example|usage|shape|input|"
    r"output|references?|see also|defaults?|todo|fixme|xxx|author|copyright|license|version|source)\s*:\s",
    re.IGNORECASE,
)
_DIRECTIVE = re.compile(r"\.\.\s+([\w:-]+?)::\s*(.*)$")
_PROSE_DIRECTIVES = {"note", "warning", "tip", "important", "caution", "attention", "hint", "danger"}
_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}\s*$")
_TABLE = re.compile(r"\s*(?:\+[-=+]{3,}|\|.*\||[=\-]{2,}(?:\s+[=\-]{2,})+\s*$)|.*\s\|\s.*\s\|\s|.*[│─┌└├]")
_BULLET = re.compile(r"(?:[-*+•]|\(?(?:\d{1,2}|[a-zA-Z])[.)])\s+")
_SIGNATURE = re.compile(r"[\w.]+\(.*\)(?:\s*(?:->|=>|:|=|--).*)?$")
_NAMED = re.compile(r"[*`]*\w[\w.\-]*[*`]*\s*(?:\([^)]*\)\s*)?(?::\s|:$|--?\s|=)")
_FENCE = re.compile(r"\s*(?:```|~~~)")

# Markup of reStructuredText, Markdown and HTML: a string that every match contains, the pattern, and the replacement.
# The string is searched first, because most texts do not contain it and this search is cheaper.
_MARKUP = (
    ("<", re.compile(r"<!--.*?-->|</?[a-zA-Z][^<>]*>(?!`)"), ""),
    ("![", re.compile(r"!\[[^\]]*\]\([^)]*\)"), ""),
    ("](", re.compile(r"\[([^\[\]]+)\]\((?:[^()]|\([^()]*\))*\)"), r"\1"),
    ("`", re.compile(r":[\w:+.-]+:`[~!]?([^`<]+?)\s*<[^`>]*>`"), r"\1"),
    ("`", re.compile(r":[\w:+.-]+:`[~][^`]*?([^`.]+)`"), r"\1"),
    ("`", re.compile(r":[\w:+.-]+:`!?([^`]*)`"), r"\1"),
    ("`~", re.compile(r"\[`~[^`]*?([^`.]+)`\]|`~[^`]*?([^`.]+)`"), r"\1\2"),
    ("[`", re.compile(r"\[`([^`]+)`\]"), r"\1"),
    ("`", re.compile(r"`([^`<]+?)\s*<[^`>]*>`_{0,2}"), r"\1"),
    ("``", re.compile(r"``(.+?)``"), r"\1"),
    ("`", re.compile(r"`([\w.-]+)'"), r"\1"),
    ("`", re.compile(r"`([^`]+)`_{0,2}"), r"\1"),
    ("]_", re.compile(r"\s*\[(?:#?\w*|\d+)\]_"), ""),
    ("**", re.compile(r"\*\*([^*]+)\*\*"), r"\1"),
    ("*", re.compile(r"(?<![\w*])\*([^\s*](?:[^*]*[^\s*])?)\*(?![\w*])"), r"\1"),
    ("|", re.compile(r"\|([A-Za-z][\w ]*)\|_{0,2}"), r"\1"),
    ("\\", re.compile(r"\\([*_`|])"), r"\1"),
    ("_", re.compile(r"\s_{1,2}(?=\s|$)"), ""),
    # The dots of torch.nn.Linear would end two sentences.
    (".", re.compile(r"(?<![\w.])(?:[A-Za-z_]\w*\.)+(?=[A-Z]\w)"), ""),
)


def docstring_prose(docstring: str) -> str:
    """Return the paragraphs of prose in a docstring, each on one line with blank lines between; may be empty.

    Doctests, fenced and indented code, tables, parameter and field sections, headings, signatures and bare links are
    removed. Bullets, roles and other markup of reStructuredText and Markdown are replaced by their text.

    >>> docstring_prose("Add a :class:`~os.Row`.\\n\\nArgs:\\n    row: The row.\\n\\n>>> add(row)")
    'Add a Row.'
    """
    lines = [line.rstrip() for line in inspect.cleandoc(docstring).splitlines()]
    paragraphs = _paragraphs(list(_kept_lines(lines)))
    prose = (prose_sentences(_without_markup(" ".join(paragraph))) for paragraph in paragraphs)
    return "\n\n".join(" ".join(sentences) for sentences in prose if sentences)


def _kept_lines(lines: list[str]) -> Iterator[str]:
    """Yield the lines that may be prose, with blank lines in place of removed lines."""
    place = 0
    in_field_section = False
    while place < len(lines):
        line, bare = lines[place], lines[place].strip()
        below = lines[place + 1].strip() if place + 1 < len(lines) else ""
        if not bare:
            yield ""
        elif _FENCE.match(line):
            place = next((at for at in range(place + 1, len(lines)) if _FENCE.match(lines[at])), len(lines))
            yield ""
        elif _UNDERLINE.match(below) and not bare.endswith((".", "::")) and len(bare) < 80:
            in_field_section = _FIELD_TITLE.fullmatch(bare.rstrip(":")) is not None
            place += 1
            yield ""
        elif in_field_section or _UNDERLINE.match(bare):
            yield ""
        elif bare.startswith((">>>", "...", "$ ", "% ", "#")):
            place = _next_blank(lines, place) - 1
            yield ""
        elif directive := _DIRECTIVE.match(bare):
            yield ""
            if directive[1].lower() in _PROSE_DIRECTIVES:
                _dedent_block(lines, place)
                yield directive[2]
            else:
                place = _block_stop(lines, place) - 1
        elif bare.startswith(".. ") or bare == ".." or _GOOGLE.fullmatch(bare) or _FIELD_LINE.match(bare):
            place = _block_stop(lines, place) - 1
            yield ""
        elif _NOTES.fullmatch(bare):
            yield ""
            _dedent_block(lines, place)
        elif bare.endswith("::"):
            yield line[: line.rindex("::")] + ":"
            yield ""
            place = _block_stop(lines, place) - 1
        elif _TABLE.match(line) or _SIGNATURE.match(bare):
            yield ""
        else:
            yield line
        place += 1


def _dedent_block(lines: list[str], place: int) -> None:
    """Move the block under a line to the line's own indent, in place."""
    stop = _block_stop(lines, place)
    inside = [_indent(line) for line in lines[place + 1 : stop] if line.strip()]
    shift = min(inside, default=0) - _indent(lines[place])
    for at in range(place + 1, stop):
        lines[at] = lines[at][max(shift, 0) :]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _next_blank(lines: list[str], place: int) -> int:
    return next((at for at in range(place, len(lines)) if not lines[at].strip()), len(lines))


def _block_stop(lines: list[str], place: int) -> int:
    """Return the index of the line after the block that is indented more deeply than this line."""
    edge = _indent(lines[place])
    return next(
        (at for at in range(place + 1, len(lines)) if lines[at].strip() and _indent(lines[at]) <= edge),
        len(lines),
    )


def _paragraphs(lines: list[str]) -> Iterator[list[str]]:
    """Yield blocks of lines with the same indent.

    A bullet starts a new block, and a term above its indented definition is left out.
    """
    paragraph: list[str] = []
    indent = 0
    for line in [*lines, ""]:
        bare = line.strip()
        bullet = _BULLET.match(bare)
        if not bare or bullet or (paragraph and _indent(line) != indent):
            if paragraph and not (bare and not bullet and _indent(line) > indent and _NAMED.match(paragraph[0])):
                yield paragraph
            paragraph = []
        if not bare:
            continue
        if not paragraph:
            indent = _indent(line) + (bullet.end() if bullet else 0)
        paragraph.append(bare[bullet.end() :] if bullet else bare)


def _without_markup(text: str) -> str:
    for mark, pattern, replacement in _MARKUP:
        if mark in text:
            text = pattern.sub(replacement, text)
    return " ".join(text.split())
