"""Annotation with a spaCy pipeline: the pipeline that is included in the project, or any installed one."""

import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span

from ops import penn
from ops.errors import InputError, one_line
from ops.reloaded_pipeline import ReloadedPipeline

SHIPPED = "english"
BLANK = "blank"
SENTENCES_PER_BATCH = 256  # sentences
TOGETHER_LETTERS = 1 << 17  # maximum number of characters of sentences whose scores are in memory at once
# A longer sentence is annotated in pieces, so that memory is bounded.
MOST_WORDS, MOST_LETTERS = 1_000, 10_000
# A longer word is cut, because the tokenizer's time is quadratic in the length of repeated punctuation.
_LONG_WORD = re.compile(r"\S{1000}(?=\S)")
_EXTENSION = "parse_string"
_OPENING = "(ROOT "
_ROOTS = ("ROOT", "TOP", "")


class Annotation(NamedTuple):
    """One sentence's words (without white space), their Penn tags and its tree.

    Tags or tree are None if the pipeline does not provide them.
    """

    words: list[str]
    tags: list[str] | None
    tree: str | None


def load_pipeline(name: str) -> Language:
    """Load `english` (included in the project), `blank` (words only), or an installed package or directory by name.

    Raises:
        InputError: the pipeline does not exist or cannot be loaded.
    """
    if name == BLANK:
        pipeline = spacy.blank("en")
    elif name == SHIPPED:
        from ops import english

        pipeline = english.load()
    else:
        try:
            pipeline = _installed(name)
        except Exception as error:
            raise InputError(
                f"--pipeline {name}: cannot be loaded ({one_line(error, 160)}); install it, name a pipeline's "
                f"directory, or leave the option out for {SHIPPED}, which is included"
            ) from error
    pipeline.max_length = 1 << 40
    return pipeline


def _installed(name: str) -> Language:
    place = Path(name) if Path(name).is_dir() else name
    try:
        return spacy.load(place)
    except Exception as error:
        if "'atlas" not in str(error):
            raise
        # The components of a pipeline of jobs.train_english are registered with spaCy when they are imported.
        from ops import english  # noqa: F401

        return spacy.load(place)


def describe(pipeline: Language) -> str:
    """Return the description that run.json stores: name, version, and the sha256 of the pipeline's files if any."""
    meta = pipeline.meta
    name = f"{meta.get('lang', '')}_{meta.get('name', '')} {meta.get('version', '')}".strip()
    if pipeline.path is None:
        return name
    digest = hashlib.sha256()
    for path in sorted(p for p in Path(pipeline.path).rglob("*") if p.is_file()):
        digest.update(f"{path.relative_to(pipeline.path)}\0".encode() + path.read_bytes())
    return f"{name} {digest.hexdigest()}"


class Annotator:
    """Annotates sentences independently, so that the result of one sentence does not depend on the others.

    Args:
        name: the pipeline, as `load_pipeline` takes it.
        split: returns the sentences of a text, if the texts are windows of running text.
    """

    def __init__(self, name: str, split: Callable[[str], list[str]] | None = None) -> None:
        self.split = split
        self._pipeline = ReloadedPipeline(lambda: load_pipeline(name))
        self._pipeline()

    def annotate(self, texts: list[str]) -> list[Annotation]:
        """Return each sentence's words, tags and tree, in order.

        Sentences of similar length are processed in one batch, whose size is limited so that the scores fit in memory.
        A sentence longer than `MOST_WORDS` or `MOST_LETTERS` is annotated in pieces, and a window sentence by sentence,
        without its line ends. Its tree has the pieces' trees as siblings under one ROOT.
        """
        cut = [[piece for sentence in self._sentences(text) for piece in in_pieces(sentence)] for text in texts]
        pieces = [piece for own in cut for piece in own]
        order = sorted(range(len(pieces)), key=lambda place: len(pieces[place]))
        found: dict[int, Annotation] = {}
        for together in _batches(order, pieces):
            docs = self._pipeline().pipe((pieces[place] for place in together), batch_size=SENTENCES_PER_BATCH)
            found |= zip(together, map(read_annotation, docs), strict=True)
        annotations = (found[place] for place in range(len(pieces)))
        return [join([next(annotations) for _ in own]) for own in cut]

    def _sentences(self, text: str) -> list[str]:
        found = [" ".join(sentence.split()) for sentence in self.split(text)] if self.split else []
        return found or [text]


def _batches(order: list[int], texts: list[str]) -> Iterator[list[int]]:
    batch: list[int] = []
    letters = 0
    for place in order:
        if batch and (len(batch) == SENTENCES_PER_BATCH or letters + len(texts[place]) > TOGETHER_LETTERS):
            yield batch
            batch, letters = [], 0
        batch.append(place)
        letters += len(texts[place])
    if batch:
        yield batch


def in_pieces(text: str) -> list[str]:
    """Return a text in pieces of at most `MOST_WORDS` words and `MOST_LETTERS` characters, cut at spaces if possible.

    A word of more than 1,000 characters is cut too.

    >>> in_pieces("One sentence.")
    ['One sentence.']
    """
    if len(text) <= MOST_LETTERS and text.count(" ") < MOST_WORDS and not _LONG_WORD.search(text):
        return [text]
    pieces: list[str] = []
    start = 0
    while start < len(text):
        end = min(start + MOST_LETTERS, len(text))
        # The piece ends at the space after its last permitted word, or at the last space before the character limit.
        space = start - 1
        for _ in range(MOST_WORDS):
            space = text.find(" ", space + 1, end)
            if space < 0:
                break
        if space >= 0:
            end = space
        elif end < len(text) and (last := text.rfind(" ", start, end + 1)) > start:
            end = last
        if long := _LONG_WORD.search(text, start, end):
            end = long.end()
        pieces.append(text[start:end])
        start = end + (text[end : end + 1] == " ")
    return pieces


def join(pieces: list[Annotation]) -> Annotation:
    """Return the annotation of a sentence, given the annotations of its pieces."""
    if len(pieces) == 1:
        return pieces[0]
    tags = [piece.tags for piece in pieces if piece.tags is not None]
    trees = [piece.tree for piece in pieces if piece.tree is not None]
    return Annotation(
        [word for piece in pieces for word in piece.words],
        [tag for own in tags for tag in own] if len(tags) == len(pieces) else None,
        f"(ROOT {' '.join(tree[len(_OPENING) : -1] for tree in trees)})" if len(trees) == len(pieces) else None,
    )


def read_annotation(doc: Doc) -> Annotation:
    """Return the annotation of a document that is one sentence of the corpus.

    Tags are read from `token.tag_`, and trees from `sent._.parse_string` (the name that benepar uses). If the pipeline
    found several sentences, their trees become siblings under one ROOT. A tree that does not have one leaf for each
    word does not belong to this sentence and is left out.
    """
    words = [token for token in doc if not token.is_space]
    tags = [token.tag_ for token in words]
    tagged = tags if words and all(tags) else None
    return Annotation([token.text for token in words], tagged, _tree(doc, len(words)))


def _tree(doc: Doc, words: int) -> str | None:
    if not Span.has_extension(_EXTENSION) or not words:
        return None
    sentences = list(doc.sents) if doc.has_annotation("SENT_START") else [doc[:]]
    try:
        given = [str(sentence._.parse_string or "") for sentence in sentences if sentence.text.strip()]
    except Exception:
        return None  # benepar's own extension raises an error if its component did not run
    try:
        trees = [penn.read(tree) for tree in given]
    except InputError:
        return None
    if not trees or sum(len(penn.leaves(tree)) for tree in trees) != words:
        return None
    inside = [part for tree in trees for part in (tree.children if tree.label in _ROOTS else [tree])]
    return f"(ROOT {' '.join(penn.write(part) for part in inside)})"
