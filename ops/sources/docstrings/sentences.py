"""Selection of the sentences of a paragraph that are English prose, for sources that mix prose with code."""

from __future__ import annotations

import re

_BOUNDARY = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(]?[A-Z])")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|cf|vs|resp|approx|Eq|Fig|Sec|No|[A-Z]))\.$")
_LABEL = re.compile(r"(?:notes?|nb|n\.b\.|warning|important|tip|caution)\s*:\s*", re.IGNORECASE)
_START = re.compile(r"[\"'(]*[A-Z]")
_END = re.compile(r"[.!?][\"')\]]*$")
_DEFINITION = re.compile(r"\S+(?:\s\([^)]*\))?(?::|\s-{1,2}|\s[\u2013\u2014])\s")
_WORD = re.compile(r"[\"'(\[]*[A-Za-z]+(?:['\u2019/-][A-Za-z]+)*[\"')\]]*[,.;:!?]*[\"')\]]*")
_CODE = re.compile(
    r"[{}\\<>|$`\u2190\u2192\u2208\u2264\u2265\u00d7]|[=!~]=|:\w+:(?:\W|$)|[\w\])]\s?[-+*/]?=\s?[\w\[({\"'-]"
    r"|\w\([\w\"'][^)]*,|https?:|\w::\w|;$|\.\.\.|\s[*+/^&]\s|\w\*\w|@\w|(?:^|\s)--?\w"
)
_FUNCTION_WORD = re.compile(
    r"\b(?:the|a|an|of|to|is|are|be|been|in|for|and|or|not|this|that|these|it|its|with|by|on|if|as|from|into|at|we|you|"
    r"they|there|but|than|should|will|would|may|must|can|all|was|were|has|have|had|when|no|any|which|does|do|only|so|"
    r"then)\b",
    re.IGNORECASE,
)
_MIN_WORDS = 3
_MAX_WORDS = 100
_WITHOUT_FUNCTION_WORD = 5  # words: a longer sequence without a function word is a list
_WORD_SHARE = 0.7


def prose_sentences(paragraph: str) -> list[str]:
    """Return the sentences of a one-line paragraph that are complete English prose, without labels such as `Note:`.

    >>> prose_sentences("Note: It returns the sum. See x[i] = 3. For example:")
    ['It returns the sum.']
    """
    sentences = (_LABEL.sub("", sentence.strip(), count=1) for sentence in _split(paragraph))
    return [sentence for sentence in sentences if is_prose(sentence)]


def is_prose(sentence: str) -> bool:
    """Return whether a text starts and ends like a sentence, is mostly words, and contains no code."""
    tokens = sentence.split()
    words = sum(_WORD.fullmatch(token) is not None for token in tokens)
    return (
        _MIN_WORDS <= words <= _MAX_WORDS
        and words >= _WORD_SHARE * len(tokens)
        and _START.match(sentence) is not None
        and _END.search(sentence) is not None
        and not _ABBREVIATION.search(sentence)
        and not _DEFINITION.match(sentence)
        and not _CODE.search(sentence)
        and (len(tokens) <= _WITHOUT_FUNCTION_WORD or _FUNCTION_WORD.search(sentence) is not None)
        and all(sentence.count(left) == sentence.count(right) for left, right in ("()", "[]"))
        and sentence.count('"') % 2 == 0
    )


def _split(paragraph: str) -> list[str]:
    sentences: list[str] = []
    for piece in _pieces(paragraph):
        if sentences and _ABBREVIATION.search(sentences[-1]):
            sentences[-1] += " " + piece
        else:
            sentences.append(piece)
    return sentences


def _pieces(paragraph: str) -> list[str]:
    places = [match.end() for match in _BOUNDARY.finditer(paragraph)]
    return [paragraph[start:end].strip() for start, end in zip([0, *places], [*places, None], strict=True)]
