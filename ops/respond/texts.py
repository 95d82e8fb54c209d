"""Texts of the user's own, cleaned, tokenized and scored as those of the corpus were."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Float32s
from ops.corpus.sentences import MIN_TOKENS, clean, has_only_unknown, make_splitter
from ops.corpus.split_sentences import SentenceSplitter
from ops.corpus.token_windows import window_size
from ops.errors import InputError, counted
from ops.model.activations import Scorer
from ops.model.batches import length_batches
from ops.model.tokenizer import PlacedTokens, Tokenizer, Tokens
from ops.sentences.pipeline import BLANK, Annotator
from ops.sentences.word_spans import Span, word_spans
from ops.storage.open_tables import OpenTables
from ops.topk.score_shard import score_batches

LOOKED_THROUGH = 2_000_000  # in a larger corpus, texts are looked for only among the annotated sentences


@dataclass(frozen=True)
class OwnText:
    """A text that is one unit, as a sentence of the corpus is.

    Attributes:
        text: the cleaned text.
        placed: its tokens, cut at the model's limit.
        words: the span of each word.
        notes: what a reader should know about it.
        sentence: the id and the data set of the sentence of the corpus that it is; None for a new text.
    """

    text: str
    placed: PlacedTokens
    words: list[Span | None]
    notes: tuple[str, ...]
    sentence: tuple[int, str] | None = None

    @property
    def sent_id(self) -> int:
        """The id of the sentence of the corpus that it is, or -1."""
        return -1 if self.sentence is None else self.sentence[0]

    @property
    def tokens(self) -> int:
        """The number of model tokens, including those that the tokenizer added."""
        return len(self.placed.tokens.ids)

    @property
    def ends_of_tokens(self) -> tuple[list[int | None], list[int | None]]:
        """Where each token begins and ends in the text; None for added tokens."""
        spans = self.placed.spans
        return [span[0] if span else None for span in spans], [span[1] if span else None for span in spans]


class TextReader:
    """Cleans and tokenizes texts as the run's corpus was; `split` is the run's value of `--split`."""

    def __init__(self, tokenizer: Tokenizer, split: str) -> None:
        self._tokenizer, self._is_split, self._splitter = tokenizer, split == "sentences", SentenceSplitter()
        self._clean = partial(clean, splitter=make_splitter(split, tokenizer))
        is_windows = window_size(split) is not None  # which keep line ends
        self._annotator = Annotator(BLANK, self._splitter.split if is_windows else None)

    def read(self, texts: Iterable[str], split: bool = False) -> list[OwnText]:
        """Return the texts, or with `split` their sentences.

        Raises:
            InputError: a text is empty, or has only tokens that the model does not know.
        """
        each = [(self._splitter.split(text) if split else [text]) or [""] for text in texts]
        cleaned = [self._clean(piece) for pieces in each for piece in pieces]
        number = [i for i, pieces in enumerate(each, 1) for _ in pieces] if len(each) > 1 else [0] * len(cleaned)
        placed = self._tokenizer.encode_with_spans(cleaned)
        words = [annotation.words for annotation in self._annotator.annotate(cleaned)]
        return [
            OwnText(text, tokens, word_spans(text, own), self._notes(text, tokens, split, text_number))
            for text, tokens, own, text_number in zip(cleaned, placed, words, number, strict=True)
        ]

    def _notes(self, text: str, placed: PlacedTokens, split: bool, number: int) -> tuple[str, ...]:
        tokens, notes = placed.tokens, []
        name = f"text {number:,}" if number else "the text"
        if not text.strip():
            raise InputError(f"{name} is empty; give at least a word")
        if has_only_unknown(tokens, self._tokenizer.unknown_id):
            advice = "leave it out (texts are counted without empty lines)" if number else "give another text"
            raise InputError(f"{name}, {text[:60]!r}: the model's tokenizer knows none of it; {advice}")
        own = len(tokens.ids) - sum(tokens.added)
        if own < MIN_TOKENS:
            count = counted(own, "token")
            notes.append(
                f"It has {count} without special ones; the corpus has no sentences of fewer than {MIN_TOKENS}."
            )
        if tokens.cut:
            notes.append(
                f"It is cut: the model reads at most {self._tokenizer.limit:,} tokens, and {tokens.cut:,} more follow."
            )
        if self._is_split and not split and len(sentences := self._splitter.split(text)) > 1:
            notes.append(
                f"It has {len(sentences)} sentences, and the run's texts are single ones; --split scores each."
            )
        return tuple(notes)


def sentences_of_corpus(tables: OpenTables, texts: Sequence[str], sentences: int) -> dict[str, tuple[int, str]]:
    """Return the id and the data set of each cleaned text that is a sentence of the corpus.

    If the corpus has very many `sentences`, only those in sentences/ are looked through.
    """
    table = "corpus" if sentences <= LOOKED_THROUGH else "sentences"
    rows = tables.read(table, pc.field("text").isin(pa.array(set(texts), pa.string())), ["sent_id", "text", "dataset"])
    return {row["text"]: (row["sent_id"], row["dataset"]) for row in rows.to_pylist()}


def score_texts(scorer: Scorer, texts: Sequence[Tokens], budget: int, equal_lengths: bool, first: int = 0) -> Float32s:
    """Return the activations of all units for each text, `[texts, units]`; budget and lengths as in `length_batches`.

    Args:
        first: the index of the first of these texts among all texts.

    Raises:
        InputError: an activation is not finite, or none of a text's tokens counts.
    """
    rows = length_batches(np.array([len(text.ids) for text in texts], np.int64), budget, equal_lengths)
    values, reasons = score_batches(scorer, ((own, [texts[row] for row in own]) for own in rows), len(texts))
    for row, why in reasons.items():
        name = f"text {first + row + 1:,}"
        if not scorer.prepare([texts[row]])[1].counted.any():
            raise InputError(
                f"{name}: the run leaves out its only tokens (added ones, a decoder's first); make it longer"
            )
        raise InputError(f"{name}: {why}; topk leaves such sentences out, so change the text")
    return values
