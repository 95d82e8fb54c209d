"""The prose of a docstring: complete English sentences, without code, fields, tables and markup."""

import inspect
import re

_MARKUP = (
    (re.compile(r"<!--.*?-->|!\[[^\]]*\]\([^)]*\)|\s*\[#?\w*\]_"), ""),  # comments, images and footnotes
    (re.compile(r"\[([^\[\]]+)\]\([^()]*\)"), r"\1"),  # a link
    (re.compile(r":[\w:+.-]+:(?=`)|(?<=`)[!~](?=\w)|(?<=`)__?\b"), ""),  # a role, and its prefix
    (re.compile(r"\[?(`{1,2})~?([^`<]+?)(?:\s*<[^`>]*>)?\1\]?_{0,2}"), r"\2"),  # code, and a name that is a link
    (re.compile(r"(?<![\w*])(\*{1,2})([^\s*](?:[^*]*[^\s*])?)\1(?![\w*])"), r"\2"),  # emphasis
    (re.compile(r"`([\w.-]+)'"), r"\1"),
    (
        re.compile(r"(?<![\w.])(?:[A-Za-z_]\w*\.)+(?=[A-Z]\w)"),
        "",
    ),  # the dots of torch.nn.Linear would end two sentences
)
_FENCED = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
# A paragraph that begins like this is a field, a directive, a doctest, a comment, an item, a table or code.
_NOT_PROSE = re.compile(r"[:@.>$%#|+<=\-*•~`]|\w[.)]\s|\d")
_HEADING = re.compile(
    r"[^.]{1,60}\n([=\-~^#*])\1{2,}\s*\n?|(?:notes?|warnings?|important|tips?)\s*:{1,2}\s+", re.IGNORECASE
)
_FIELDS = re.compile(
    r"(?:args|arguments|parameters|returns?|yields?|raises|see also|references|examples?|usage)\b", re.IGNORECASE
)
_BOUNDARY = re.compile(r"(?<=[.!?])(?<!\b[ie]\.[ge]\.)[\"')\]]*\s+(?=[\"'(]?[A-Z])")
_SENTENCE = re.compile(r"[\"'(]*[A-Z].*[^.](?<!\be\.g)(?<!\bi\.e)[.!?][\"')\]]*")
_WORD = re.compile(r"[\"'(\[]*[A-Za-z]+(?:['\u2019/-][A-Za-z]+)*[\"')\]]*[,.;:!?]*[\"')\]]*")
_CODE = re.compile(
    r"[{}\\<>|$`@^\u2190-\u22ff]|[=!~]=|[\w\])]\s?[-+*/]?=|\w\([\w\"'][^)]*,|https?:|::|;$|\.\.\.|\s[*+/&]\s|\w\*|(?:^|\s)--?\w"
    r"|^\S+(?:\s\([^)]*\))?(?::|\s--?)\s"
)
_FUNCTION_WORD = re.compile(
    r"\b(?:the|an?|of|to|is|are|be|in|for|and|or|not|this|it|its|with|by|on|if|as|from|into|at|we|you|that|can|will)\b",
    re.IGNORECASE,
)
_FEWEST_WORDS, _MOST_WORDS, _SHARE_OF_WORDS = 3, 100, 0.7
_SHORT = 5  # a longer sequence of words without a function word is a list


def docstring_prose(docstring: str) -> str:
    """Return the sentences of a docstring's plain paragraphs, with blank lines between paragraphs; may be empty.

    A paragraph with an indented line is a section of fields, a definition, an item or code, and is left out.

    >>> docstring_prose("Add a :class:`Row`.\\n\\nArgs:\\n    row: The row.\\n\\n>>> add(row)")
    'Add a Row.'
    """
    paragraphs = []
    in_fields = False
    for block in re.split(r"\n\s*\n", _FENCED.sub("", inspect.cleandoc(docstring))):
        heading = _HEADING.match(block)
        in_fields = _FIELDS.match(block) is not None if heading else in_fields and not block[:1].isspace()
        text = block[heading.end() :] if heading else block
        if in_fields or _NOT_PROSE.match(text) or re.search(r"(?:^|\n)\s", text):
            continue
        for pattern, replacement in _MARKUP:
            text = pattern.sub(replacement, text)
        sentences = filter(is_prose, _BOUNDARY.split(" ".join(text.split())))
        paragraphs.append(" ".join(sentences))
    return "\n\n".join(filter(None, paragraphs))


def is_prose(sentence: str) -> bool:
    """Return whether a text starts and ends like a sentence, is mostly words, and contains no code.

    >>> is_prose("It returns the sum."), is_prose("See x[i] = 3."), is_prose("The sum of:")
    (True, False, False)
    """
    tokens = sentence.split()
    words = sum(_WORD.fullmatch(token) is not None for token in tokens)
    return (
        max(_FEWEST_WORDS, _SHARE_OF_WORDS * len(tokens)) <= words <= _MOST_WORDS
        and _SENTENCE.fullmatch(sentence) is not None
        and _CODE.search(sentence) is None
        and (len(tokens) <= _SHORT or _FUNCTION_WORD.search(sentence) is not None)
        and all(sentence.count(a) == sentence.count(b) for a, b in ("()", "[]"))
        and sentence.count('"') % 2 == 0
    )
