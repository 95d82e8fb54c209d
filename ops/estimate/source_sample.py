"""The first rows of some pieces of a source, read in the same way as by ingest, and estimates for the source."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from ops.corpus.accounts import check_found
from ops.corpus.meta import check_keys
from ops.corpus.numbering import Pieces
from ops.corpus.sentences import SentenceFilter, Splitter
from ops.errors import InputError, counted
from ops.estimate.timed_batches import Sentences, spread
from ops.model.tokenizer import Tokenizer
from ops.sources.pieces import extent_of, piece_extent, read_piece
from ops.sources.rows import Broken, OnError, Row
from ops.sources.source import Piece
from ops.sources.source_format import Rows
from ops.storage.side_by_side import side_by_side

MOST_PIECES = 6
MOST_ROWS = 20_000  # maximum number of rows to read from a piece


@dataclass
class SourceSample:
    """The rows that were read from a source.

    Attributes:
        share: share of the source that was read; None if the source does not report its length.
        rows, sentences, rejects: number of rows, of usable sentences, and of rejected sentences.
        reasons: number of rejects for each reason.
        tables: the usable sentences, in blocks.
        seconds: seconds on one core for reading, splitting, cleaning and tokenizing.
    """

    share: float | None = 0.0
    rows: int = 0
    sentences: int = 0
    rejects: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    keys: set[str] = field(default_factory=set)
    hashes: set[bytes] = field(default_factory=set)
    tables: list[pa.Table] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def whole(self) -> bool:
        """Whether all of the source was read."""
        return self.share == 1.0


def sample_source(
    pieces: Sequence[Piece],
    tokenizer: Tokenizer,
    splitter: Splitter | None,
    seconds: float,
    text_column: str = "text",
    on_error: OnError = "fail",
) -> SourceSample:
    """Read the beginnings of some pieces, spread over the source; of more if these have no usable sentence.

    Args:
        seconds: approximate total time for reading. At least one row of each of these pieces is read.
    """
    sample = SourceSample()
    extents = list(side_by_side(piece_extent, pieces))
    seen = 0.0
    for turn, number in enumerate(spread(len(pieces))):
        if turn >= MOST_PIECES and (sample.sentences or sample.seconds > seconds):
            break
        rows, read = iter(read_piece(pieces[number], text_column, on_error)), list[Row | Broken]()
        sentence_filter = SentenceFilter(tokenizer, splitter)
        started = time.perf_counter()
        for block in sentence_filter.blocks(_first_rows(rows, started + seconds / min(len(pieces), MOST_PIECES), read)):
            check_keys(sentence_filter.keys, pieces[number].file)
            sample.sentences += block.sentences.num_rows
            sample.rejects += block.rejects.num_rows
            sample.reasons.update(block.rejects["reason"].to_pylist())
            sample.hashes.update(row.tobytes() for row in block.hashes)
            sample.tables.append(block.sentences)
        sample.seconds += time.perf_counter() - started
        sample.rows += len(read)
        sample.keys |= sentence_filter.keys
        seen += (extents[number] or 0.0) if next(rows, None) is None else extent_of(pieces[number], read)
    whole = sum(extent or 0.0 for extent in extents)
    sample.share = None if None in extents else min(seen / whole, 1.0) if whole else 1.0
    return sample


def _first_rows(rows: Rows, until: float, read: list[Row | Broken]) -> Rows:
    """Yield rows until the time is up or there are enough, and append them to `read`."""
    for row in rows:
        read.append(row)
        yield row
        if len(read) >= MOST_ROWS or time.perf_counter() > until:
            return


def check_samples(specs: Sequence[str], samples: Sequence[SourceSample]) -> None:
    """Refuse a source that was read to its end but has no usable sentence, as ingest itself does.

    Args:
        specs: the sources, as given to `--corpus`.

    Raises:
        InputError: there is such a source, or no source has a usable sentence in what was read.
    """
    whole = [i for i, sample in enumerate(samples) if sample.whole]
    rows, sentences, rejects = (
        np.array([getattr(samples[i], name) for i in whole], np.int64) for name in ("rows", "sentences", "rejects")
    )
    reasons = [dict(samples[i].reasons) for i in whole]
    pieces = Pieces(np.arange(len(whole)), rows, sentences, rejects, np.zeros(len(whole), np.int64), reasons, [])
    check_found([specs[i] for i in whole], pieces)
    if not any(sample.sentences for sample in samples):
        read = counted(sum(sample.rows for sample in samples), "row")
        raise InputError(
            f"--corpus {' '.join(specs)}: the first {read} have no usable sentence to estimate from; see --split and "
            "--text-column, or leave out --dry-run"
        )


def sampled_sentences(samples: Sequence[SourceSample]) -> Sentences:
    """Return the sentences that were read from all sources, in the form that they would have in the corpus."""
    tables = [table for sample in samples for table in sample.tables]
    texts = [text for table in tables for text in table["text"].to_pylist()]
    tokens = np.concatenate([table["n_tokens"].to_numpy().astype(np.int64) for table in tables])
    return Sentences(np.arange(len(texts)), texts, tokens)
