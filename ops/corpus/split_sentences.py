"""Splitting of running text into sentences with spaCy's rules."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

import spacy
from spacy.language import Language
from spacy.pipeline import Sentencizer

from ops.reloaded_pipeline import ReloadedPipeline

_WINDOW = 100_000  # maximum number of characters passed to spaCy at a time
_LONG_WORD = 100  # characters kept at each end, because spaCy's time is quadratic in the length of repeated punctuation
_OPENING = frozenset("\"'([{\u2018\u201c\u00ab")
_LAST_WORD = re.compile(r"[A-Za-z]+[.!?] ")
_PARAGRAPH = re.compile(r"\n\s*\n")


class SentenceSplitter:
    """Splits text with spaCy's blank English tokenizer and `sentencizer`.

    Words that cannot affect a sentence boundary are replaced before spaCy reads the text, to save time.

    A sentence ends at a blank line, or at a token like `.` `!` `?` with the punctuation after it. The tokenizer
    recognises abbreviations. Unlike in spaCy, an opening quote or bracket belongs to the sentence that it opens.
    Memory is bounded for a text of any length, and a sentence of over 100,000 characters is cut.

    >>> SentenceSplitter().split('Dr. Who left. "Why?" she asked.')
    ['Dr. Who left.', '"Why?"', 'she asked.']
    """

    def __init__(self) -> None:
        self._pipeline = ReloadedPipeline(_sentencizer)
        ends = re.escape("".join(Sentencizer.default_punct_chars))
        # A word that begins with a letter or digit and contains no end of a sentence cannot affect a boundary.
        plain = rf"(?:[^\W_][^\s{ends}]*+(?!\S)\s*+)++"
        self._parts = re.compile(rf"({plain})|(\S++)\s*+")

    def split(self, text: str) -> list[str]:
        """Return the sentences in order and unchanged, without white space at their ends; omit blank ones."""
        return [
            sentence for paragraph in _PARAGRAPH.split(text) if paragraph for sentence in self._paragraph(paragraph)
        ]

    def _paragraph(self, text: str) -> Iterator[str]:
        place = len(text) - len(text.lstrip())
        while place < len(text):
            end = _window_end(text, place)
            starts = [place + start for start in self._starts(text[place:end])]
            if end < len(text) and len(starts) > 1:
                end = starts.pop()  # the end of the last sentence is not in this window: it begins the next one
            for start, stop in zip(starts, [*starts[1:], end], strict=True):
                if sentence := text[start:stop].strip():
                    yield sentence
            place = end

    def _starts(self, text: str) -> list[int]:
        """Return the starts of sentences in a text that does not begin with white space; the first start is 0."""
        parts: list[str] = []
        places: list[int] = []
        for match in self._parts.finditer(text):
            word = match[2]
            places.append(match.start())
            if word is None:
                parts.append("a ")
            elif len(word) <= 2 * _LONG_WORD:
                parts.append(word + " ")
            else:
                parts += word[:_LONG_WORD], word[-_LONG_WORD:] + " "
                places.append(match.start() + len(word) - _LONG_WORD)
        if parts in ([], ["a "]) or (parts[:-1] in ([], ["a "]) and _LAST_WORD.fullmatch(parts[-1])):
            return [0]  # the only sentence end is the end of the text
        pipeline = self._pipeline()
        read = pipeline.get_pipe("sentencizer")(pipeline.tokenizer("".join(parts)[:-1]))
        starts = [span.start_char for span in read.sents]
        before = list(accumulate(map(len, parts), initial=0))
        return [0, *(_with_opening(text, _place_in_text(start, before, places)) for start in starts[1:])]


def _sentencizer() -> Language:
    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    return pipeline


def _place_in_text(start: int, before: list[int], places: list[int]) -> int:
    part = bisect_right(before, start) - 1
    return places[part] + start - before[part]


def _with_opening(text: str, start: int) -> int:
    opening = start
    while opening and text[opening - 1] in _OPENING:
        opening -= 1
    return opening if opening and text[opening - 1].isspace() else start


def _window_end(text: str, place: int) -> int:
    end = place + _WINDOW
    if end >= len(text):
        return len(text)
    white = max(text.rfind(mark, place + 1, end) for mark in " \n\t\r")
    return white + 1 if white > place else end
