"""Cuts a text into windows of a number of model tokens, whose tokens are those of the whole text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ops.errors import InputError

if TYPE_CHECKING:
    from ops.model.tokenizer import Tokenizer

LEAST = 8  # tokens that a user may ask for
LEAST_OF_WINDOW = 3
OPTION = re.compile(r"tokens:(\d+)")
# Tokens after a cut that are compared, and further ones that are read because the text in hand may end within a word.
_COMPARED, _BEYOND = 16, 16
# Places whose right side has other tokens: a tokenizer that begins every text with a mark has no others.
_TRIES = 64
_LETTERS = 6  # characters of a token, about


def window_size(split: str) -> int | None:
    """Return N of `tokens:N`; None for another value of `--split`."""
    match = OPTION.fullmatch(split)
    return int(match[1]) if match else None


# The tokens of a text from a place on, and their spans in characters from there.
_Ahead = tuple[list[int], list[tuple[int, int]]]


class TokenWindows:
    """Cuts texts into windows of at most `size` ordinary tokens, without loss: together the windows are the text.

    A window ends at the last place where both sides, tokenized alone, have the tokens of the undivided text: never
    inside a character, and most often not inside a word. Without such a place it ends where at least its own tokens
    are those of the text, or else within the `size` tokens. The last window may be shorter. Every window has at least 3
    tokens where possible.

    Args:
        tokenizer: the model's tokenizer.
        size: maximum number of tokens that the tokenizer did not add.

    Raises:
        InputError: the size is over the limit of the model, or the tokenizer does not say where its tokens are.
    """

    def __init__(self, tokenizer: Tokenizer, size: int) -> None:
        added = sum(tokenizer.encode(["a"])[0].added)
        if size + added > tokenizer.limit:
            raise InputError(
                f"--split tokens:{size}: the model reads at most {tokenizer.limit} tokens, {added} of them special; "
                f"give tokens:{tokenizer.limit - added} or fewer"
            )
        if not tokenizer.has_spans:
            raise InputError(
                f"--split tokens:{size}: the model's tokenizer does not report where its tokens are in a text; "
                "choose a model with a fast tokenizer, or another --split"
            )
        self.tokenizer, self.size = tokenizer, size

    def split(self, text: str) -> list[str]:
        """Return the windows in order, unchanged."""
        windows = []
        start, ahead = 0, self._ahead(text, 0)
        while len(ahead[0]) > self.size:
            end, ahead = self._cut(text, start, ahead)
            windows.append(text[start:end])
            start = end
        return [*windows, text[start:]] if start < len(text) else windows

    def _ahead(self, text: str, start: int) -> _Ahead:
        """Return the tokens from a place on, at least as many as a cut depends on if there are."""
        wanted = self.size + _COMPARED + _BEYOND
        length = wanted * _LETTERS
        while True:
            ids, spans = self.tokenizer.spans(text[start : start + length])
            if len(ids) >= wanted or start + length >= len(text):
                return ids, spans
            length *= 2

    def _cut(self, text: str, start: int, ahead: _Ahead) -> tuple[int, _Ahead]:
        """Return the end of the window that begins at `start`, and the tokens after it.

        Args:
            text, start: the text, and the place in it where the window begins.
            ahead: the tokens from `start` on, more than `size` of them.
        """
        ids, spans = ahead
        second, tries = None, 0
        most = min(self.size, len(ids) - LEAST_OF_WINDOW)
        for count in range(most, LEAST_OF_WINDOW - 1, -1):
            end = start + spans[count - 1][1]
            if end == start or end > start + spans[count][0]:
                continue  # the two tokens share a character
            if self.tokenizer.spans(text[start:end])[0] != ids[:count]:
                continue
            after = self._ahead(text, end)
            compared = ids[count : count + _COMPARED]
            if after[0][: len(compared)] == compared:
                return end, after
            second, tries = second or (end, after), tries + 1
            if tries == _TRIES:
                break
        if second is None:
            end = start + self._within(text, start, spans[:most])
            second = end, self._ahead(text, end)
        return second

    def _within(self, text: str, start: int, spans: list[tuple[int, int]]) -> int:
        """Return the number of characters of a window within the size whose tokens are not those of the text."""
        for _, length in reversed(spans):
            if length > 0 and len(self.tokenizer.spans(text[start : start + length])[0]) <= self.size:
                return length
        return 1
