"""What the Penn Treebank's tags stand for: word classes and punctuation."""

TAG_CLASSES = ("noun", "verb", "adjective", "other")

# By tag alone: symbols such as % and words such as "lol" are no punctuation.
PUNCTUATION_TAGS = frozenset({",", ":", ".", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP"})


def tag_class(tag: str) -> str:
    """Return a Penn tag's class: noun (NN...), verb (VB...), adjective (JJ...) or other (modals too).

    >>> [tag_class(tag) for tag in ("NNPS", "VBZ", "JJR", "MD")]
    ['noun', 'verb', 'adjective', 'other']
    """
    return {"NN": "noun", "VB": "verb", "JJ": "adjective"}.get(tag[:2], "other")
