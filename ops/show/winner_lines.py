"""A winner as one line of text: cut around its peak, with its peak and the words of the strongest findings marked."""

from typing import Any

from ops.sentences.word_spans import Span
from ops.show.examples import matched_words, spans_of_words
from ops.show.text import activation, shorten

Row = dict[str, Any]
Rows = list[Row]

MARKED = 3  # findings whose words are marked
FEW_WORDS = 4  # a subtree that matches more words than these is not marked: it would be most of the sentence
COMMON = 0.4  # share of the corpus from which marking a finding tells a reader nothing
LEGEND = "[ ] its peak, * * words of a finding"
_SNAP = 12  # characters within which a cut is moved to the end of a word
_DOTS = "..."


def spans_of_findings(sentence: Row, found: Rows, options: Row) -> list[Span]:
    """Return where a winner has the words of the first findings that can be marked, in ascending order.

    Args:
        sentence: its row of `sentences/` (`text`, `words`, `tags`, `tree`).
        found: findings (see `ops.show.findings`), the strongest first.
        options: those of `mine`.
    """
    able = [row for row in found if row["kind"] != "value" and (row["baseline_share"] or 0.0) < COMMON]
    places: set[int] = set()
    for row in able[:MARKED]:
        places.update(_places(sentence, row, options))
    return spans_of_words(sentence["text"], sentence["words"] or [], sorted(places))


def winner_line(winner: Row, source: int, width: int) -> str:
    """Return a winner in one line: rank, activation, its text, and its data set in the last columns.

    Args:
        winner: `rank`, `activation`, `text`, `dataset`, and where there are any `peak` and `matches` (see
            `ops.show.neuron_facts`).
        source: characters of the longest name of a data set.
        width: characters of the line.
    """
    head = line_head(winner)
    room = width - len(head) - source - 2
    peak = winner["peak"]["span"] if winner.get("peak") else None
    return f"{head}{marked(winner['text'], peak, winner.get('matches') or [], room):<{room}}  {winner['dataset']}"


def line_head(winner: Row) -> str:
    """Return the columns before a winner's text."""
    return f"{winner['rank']:>3} {activation(winner['activation']):>8}  "


def marked(text: str, peak: Span | None, matches: list[Span], width: int) -> str:
    """Return a text in so many characters, around its peak or else its first match where it is longer than that.

    The peak is in brackets, matches are between asterisks. A match that overlaps the peak gets the brackets only.

    >>> marked("he said that it fell by ten", (16, 20), [(3, 7)], 40)
    'he *said* that it [fell] by ten'
    >>> marked("he said that it fell by ten", (16, 20), [(3, 7)], 22)
    '...it [fell] by...'
    """
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


def _places(sentence: Row, row: Row, options: Row) -> list[int]:
    words, tags, kind = sentence["words"] or [], sentence["tags"] or [], row["kind"]
    items = row["items"]
    if kind == "topic":
        wanted = set(items)
        return [i for i, word in enumerate(words) if word.lower() in wanted]
    if kind == "mark":
        return [i for i, word in enumerate(words) if word == row["text"]]
    if kind == "word" and len(items) == 1:
        return [i for i, word in enumerate(words) if word.lower() == items[0].lower()]
    if kind == "tag" and len(items) == 1 and len(tags) == len(words):
        return [i for i, tag in enumerate(tags) if tag == items[0]]
    if "pattern" not in row:
        return []
    found = matched_words(sentence, row, options) or []
    return found if kind != "subtree" or len(found) <= FEW_WORDS else []
