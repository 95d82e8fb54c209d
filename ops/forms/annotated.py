"""Annotated sentences and the names of their codes, as the forms of sentences are computed from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ops.arrays import Bools, Int32s
from ops.patterns.sequences import Sequences
from ops.sentences.names import Names


class Vocabulary(NamedTuple):
    """The names of the codes of a corpus.

    Attributes:
        words: the distinct words as written.
        lower: the code of each word's lower-case form, `[words]`.
        lower_words: the distinct words in lower case.
        tags, labels: the names of the tags, and of the nodes of trees.
    """

    words: Names
    lower: Int32s
    lower_words: Names
    tags: Sequence[str]
    labels: Sequence[str]


@dataclass(frozen=True)
class Annotated:
    """Some annotated sentences as codes.

    Attributes:
        words: the words of each sentence as written, including punctuation.
        tags: the tag of each word, -1 for none, `[items]`.
        is_mark: whether each word is punctuation, `[items]`.
        top: the label of the first node below the root of each sentence's tree, -1 for none, `[sentences]`.
    """

    words: Sequences
    tags: Int32s
    is_mark: Bools
    top: Int32s
