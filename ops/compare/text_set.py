"""Text sets, each with a name and a source, of whose distinct sentences a uniform sample is drawn while streaming."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ops.corpus.sentences import SENTENCES, Block, SentenceFilter
from ops.corpus.split_sentences import SentenceSplitter
from ops.errors import InputError
from ops.model.tokenizer import Tokenizer
from ops.sampling import TEXT_SETS, priorities
from ops.sources.pieces import check_source, pieces, read_piece
from ops.sources.source import Source
from ops.sources.spec import parse_source

_COLUMNS = ["text", "doc_id", "n_tokens"]
_KEPT = pa.schema([*map(SENTENCES.field, _COLUMNS), ("row", pa.int64()), ("priority", pa.uint64())])


def parse_text_sets(specs: Sequence[str], text_column: str) -> dict[str, Source]:
    """Parse text sets given as NAME=SOURCE, open their sources, and return the sources by name.

    Raises:
        InputError: a text set has no name, two have the same name, or a source cannot be read.
    """
    sources: dict[str, Source] = {}
    for spec in specs:
        name, _, rest = spec.partition("=")
        name = name.strip()
        if not name or not rest:
            raise InputError(f"--text-set {spec}: expected NAME=SOURCE, such as news=news.txt")
        if name in sources:
            raise InputError(f"--text-set {name}: is given twice; give each text set a name of its own")
        try:
            sources[name] = parse_source(rest)
            check_source(sources[name], text_column)
        except InputError as error:
            raise InputError(str(error).replace("--corpus", "--text-set", 1)) from error
    return sources


def read_text_set(
    source: str, text_column: str, tokenizer: Tokenizer, splits: bool, most: int, seed: int
) -> tuple[pa.Table, dict[str, Any]]:
    """Return the result of `sample_sentences` for a source in the form that `parse_source` accepts.

    If the text is not split, each row is one sentence.
    """
    sentence_filter = SentenceFilter(tokenizer, SentenceSplitter() if splits else None)
    rows = (row for piece in pieces(parse_source(source)) for row in read_piece(piece, text_column))
    return sample_sentences(sentence_filter.blocks(rows), most, seed)


def sample_sentences(blocks: Iterator[Block], most: int, seed: int) -> tuple[pa.Table, dict[str, Any]]:
    """Return the `text`, `doc_id` and `n_tokens` of at most `most` distinct sentences, in the order of the source.

    The second result says how many sentences there were (`read`), how many are in the sample (`kept`), and how many
    were `rejected`, by reason.

    A sentence's priority depends only on the seed and on its hash, so copies have the same priority, and only the
    sample is in memory. The final sample does not depend on how the source was cut into blocks.
    """
    kept, read, rejected = _KEPT.empty_table(), 0, Counter[str]()
    for block in blocks:
        row = read + np.arange(block.sentences.num_rows)
        priority = priorities(np.ascontiguousarray(block.hashes[:, 0]), seed, TEXT_SETS)
        columns = [*block.sentences.select(_COLUMNS).columns, row, priority]
        both = pa.concat_tables([kept, pa.table(columns, schema=_KEPT)])
        # Of copies, the first one is kept.
        _, first = np.unique(both["priority"].to_numpy(), return_index=True)
        kept = both.take(first[:most])
        read += len(row)
        rejected.update(block.rejects["reason"].to_pylist())
    counts = {"read": read + rejected.total(), "kept": len(kept), "rejected": dict(sorted(rejected.items()))}
    return kept.sort_by("row").select(_COLUMNS), counts


def said_left_out(name: str, counts: Mapping[str, Any]) -> str:
    """Return what of a text set is not in the sample, given the counts of `sample_sentences`; empty if all is.

    >>> said_left_out("--a-texts mine.txt", {"read": 9, "kept": 6, "rejected": {"too_short": 1}})
    '--a-texts mine.txt: 6 of 9 sentences; left out: 1 too short, 2 as copies or beyond the sample'
    """
    rest = counts["read"] - counts["kept"] - sum(counts["rejected"].values())
    parts = [f"{n:,} {reason.replace('_', ' ')}" for reason, n in counts["rejected"].items()]
    parts += [f"{rest:,} as copies or beyond the sample"] if rest else []
    return f"{name}: {counts['kept']:,} of {counts['read']:,} sentences; left out: {', '.join(parts)}" if parts else ""
