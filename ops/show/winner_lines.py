"""Lay out a winner as one line, cut around its peak, with the peak and words of the strongest findings marked."""

from ops.facts.rows import Row
from ops.facts.text import activation, on_one_line, shorten
from ops.sentences.word_spans import Span

LEGEND = "[ ] peak word, * * words of a finding"
_SNAP = 12  # a cut is moved to the end of a word within this many characters
_DOTS = "..."


def winner_line(winner: Row, source: int, width: int) -> str:
    """Return a winner as one line: rank, activation, text, and its data set in the last columns.

    It may have a `peak` and `matches` (see `ops.facts.neuron_facts`). `source` is the length of the longest name of a
    data set. Names are cut to a third of the line.
    """
    head, source = line_head(winner), min(source, width // 3)
    room = width - len(head) - source - 2
    peak = winner["peak"]["span"] if winner.get("peak") else None
    text = marked(winner["text"], peak, winner.get("matches") or [], room)
    return f"{head}{text:<{room}}  {shorten(winner['dataset'], source)}"


def line_head(winner: Row) -> str:
    """Return the columns before a winner's text."""
    return f"{winner['rank']:>3} {activation(winner['activation']):>8}  "


def marked(text: str, peak: Span | None, matches: list[Span], width: int) -> str:
    """Return a text with its peak and matches marked. A longer text is cut around its peak, or else its first match.

    The peak is in brackets, and matches are between asterisks. A match that overlaps the peak gets only the brackets.

    >>> marked("he said that it fell by ten", (16, 20), [(3, 7)], 40)
    'he *said* that it [fell] by ten'
    >>> marked("he said that it fell by ten", (16, 20), [(3, 7)], 22)
    '...it [fell] by...'
    """
    text = on_one_line(text)
    spans = [(start, end, "*", "*") for start, end in matches if peak is None or end <= peak[0] or start >= peak[1]]
    spans = sorted([*spans, *([(*peak, "[", "]")] if peak else [])])
    whole = _with_marks(text, spans, 0, len(text))
    if len(whole) <= width:
        return whole
    seen = peak or (matches[0] if matches else (0, 0))
    room = max(width, 1)
    while True:
        begin, end = _window(text, seen, room)
        cut = _with_marks(text, spans, begin, end)
        excess = len(cut) - width
        if excess <= 0 or room <= 8:
            return shorten(cut, width)
        room -= excess


def _window(text: str, seen: Span, room: int) -> tuple[int, int]:
    begin = max(min((seen[0] + seen[1] - room) // 2, len(text) - room), 0)
    begin = min(begin, seen[0])
    end = min(begin + room, len(text))
    space = text.find(" ", begin, begin + _SNAP)
    if begin > 0 and 0 <= space < seen[0]:
        begin = space + 1
    space = text.rfind(" ", max(end - _SNAP, 0), end)
    if end < len(text) and space >= seen[1]:
        end = space
    return begin, end


def _with_marks(text: str, spans: list[tuple[int, int, str, str]], begin: int, end: int) -> str:
    pieces, at = [_DOTS * (begin > 0)], begin
    for start, stop, left, right in spans:
        if start < at or stop > end:
            continue
        pieces += [text[at:start], left, text[start:stop], right]
        at = stop
    return "".join([*pieces, text[at:end], _DOTS * (end < len(text))])
