"""Treebank files: one bracketed tree per line, or one word and tag per line (.gz or not)."""

import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ops.errors import InputError, one_line
from ops.penn import ROOT, Tree, leaves, read

_NOT_UTF8 = re.compile("[\udc80-\udcff]")  # how "surrogateescape" represents bytes that are not UTF-8


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words and tags, `[n]` each, and the tree over them, with ROOT at the top, if there is one."""

    words: list[str]
    tags: list[str]
    tree: Tree | None = None


def sentence_of_tree(tree: Tree) -> Sentence:
    """Return the sentence of a tree, adding a ROOT if it has none."""
    tree = tree if tree.label == ROOT and tree.word is None else Tree(ROOT, [tree])
    found = leaves(tree)
    return Sentence([leaf.word or "" for leaf in found], [leaf.label for leaf in found], tree)


def read_trees(path: Path) -> list[Sentence]:
    """Return the sentences of a file with one bracketed tree per line.

    Raises:
        InputError: the file does not exist or has no sentence, or a line cannot be read; the message names the line.
    """
    sentences = []
    for number, line in _lines(path):
        if line.strip():
            try:
                sentences.append(sentence_of_tree(read(line)))
            except InputError as error:
                raise InputError(f"{path}, line {number}: {error}") from None
    return _not_empty(sentences, path, "one bracketed tree per line")


def read_tags(path: Path) -> list[Sentence]:
    """Return the sentences of a file of word, tab and tag, a blank line after each sentence.

    Raises:
        InputError: the file does not exist or has no sentence, or a line has other columns; the message names the line.
    """
    sentences = []
    words: list[str] = []
    tags: list[str] = []
    for number, line in _lines(path):
        fields = line.rstrip("\n").split("\t")
        if len(fields) == 2:
            words.append(fields[0])
            tags.append(fields[1])
        elif line.strip():
            raise InputError(f"{path}, line {number}: {len(fields)} columns, expected word<TAB>tag; correct the line")
        elif words:
            sentences.append(Sentence(words, tags))
            words, tags = [], []
    if words:
        sentences.append(Sentence(words, tags))
    return _not_empty(sentences, path, "word<TAB>tag lines")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    if not path.is_file():
        raise InputError(f"{path}: no such treebank file; give the path of an existing one")
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8", errors="surrogateescape") as file:
            for number, line in enumerate(file, 1):
                if _NOT_UTF8.search(line):
                    raise InputError(f"{path}, line {number}: has bytes that are not UTF-8; correct the line")
                yield number, line
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read ({one_line(error)}); give another file") from error


def _not_empty(sentences: list[Sentence], path: Path, expected: str) -> list[Sentence]:
    if not sentences:
        raise InputError(f"{path}: no sentence in it, expected {expected}; give another file")
    return sentences
