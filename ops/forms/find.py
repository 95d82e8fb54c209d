"""Which of some sentences have a form, given their words, tags and trees as text."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from ops.arrays import Int32s
from ops.forms.affixes import PREFIX_REST, SUFFIX_REST
from ops.forms.clauses import Annotated, Clauses, Vocabulary
from ops.forms.forms import Forms
from ops.patterns.sequences import Sequences
from ops.penn import PUNCTUATION_TAGS, read_labels_and_sizes
from ops.sentences.names import Names
from ops.sentences.store import is_mark

_KEPT = 4  # groups of sentences that are kept in memory, since several forms are asked for the same ones


def sentences_with(name: str, value: str, sentences: Sequence[Mapping[str, Any]]) -> frozenset[int]:
    """Return the positions of the sentences with a value of one of the properties `ops.forms.forms.NAMES`.

    Which words have an affix depends on all words of `sentences/`, and these may be only some of its sentences. So
    every word that is spelled with the affix has it.

    Args:
        name, value: the property and its value.
        sentences: rows of `sentences/` with `words`, `tags` and `tree`, each of which may be None.
    """
    if name in ("prefix", "suffix"):
        own_words = [own["words"] or () for own in sentences]
        return frozenset(i for i, own in enumerate(own_words) if any(_is_spelled(word.lower(), value) for word in own))
    forms, clauses = _read(tuple((tuple(s["words"] or ()), tuple(s["tags"] or ()), s["tree"]) for s in sentences))
    values, found = forms.values(name), forms.codes(name, clauses).to_lists()
    return frozenset(i for i, codes in enumerate(found) if any(values[code] == value for code in codes))


@lru_cache(_KEPT)
def _read(sentences: tuple[tuple[tuple[str, ...], tuple[str, ...], str | None], ...]) -> tuple[Forms, Clauses]:
    """Return sentences, given as words, tags and tree, and their forms."""
    words = [own for own, _, _ in sentences]
    tags = [own if len(own) == len(of) else ("",) * len(of) for of, own, _ in sentences]
    trees = [read_labels_and_sizes(tree)[0] if tree else [] for _, _, tree in sentences]
    word_names, word = _coded(chain.from_iterable(words))
    lower_names, lower = _coded(own.lower() for own in word_names)
    tag_names, tag = _coded(chain.from_iterable(tags))
    label_names, top = _coded(labels[1] if len(labels) > 1 else "" for labels in trees)
    is_mark_by_tag = np.array([own in PUNCTUATION_TAGS for own in tag_names], bool)[tag]
    is_mark_by_word = np.array([*map(is_mark, word_names)], bool)[word]
    marks = np.where(np.array([own == "" for own in tag_names], bool)[tag], is_mark_by_word, is_mark_by_tag)
    forms = Forms(Vocabulary(Names.of(word_names), lower, Names.of(lower_names), tag_names, label_names))
    offsets = np.cumsum([0, *map(len, words)], dtype=np.int64)
    return forms, forms.clauses(Annotated(Sequences(word, offsets), tag, marks, top))


def _coded(texts: Iterable[str]) -> tuple[list[str], Int32s]:
    """Return the distinct texts, sorted, and the index of each text among them."""
    names, codes = np.unique(np.array([*texts], object), return_inverse=True)
    return names.tolist(), codes.astype(np.int32)


def _is_spelled(word: str, affix: str) -> bool:
    letters = affix.strip("-")
    rest = word.removeprefix(letters) if affix.endswith("-") else word.removesuffix(letters)
    least = PREFIX_REST if affix.endswith("-") else SUFFIX_REST
    return word.isalpha() and least <= len(rest) < len(word)
