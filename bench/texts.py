"""Real sentences for benchmarks."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from ops.corpus.split_sentences import SentenceSplitter
from ops.sources.docstrings import pydocs_pieces, read_pydocs
from ops.sources.rows import Row


def draw(count: int, seed: int) -> list[str]:
    """Return a seeded sample of real sentences of at least three words.

    The sentences come from the Parquet files of the folder corpora/ below ATLAS_TEST_DATA if that is set, otherwise
    from docstrings.
    """
    folder = Path(os.environ.get("ATLAS_TEST_DATA", "")) / "corpora"
    if os.environ.get("ATLAS_TEST_DATA") and folder.is_dir():
        tables = [
            pq.read_table(file, columns=["text"])["text"].to_pylist() for file in sorted(folder.glob("*.parquet"))
        ]
        texts = [text for table in tables for text in table]
    else:
        splitter = SentenceSplitter()
        rows = [row for piece in pydocs_pieces() for row in read_pydocs(piece) if isinstance(row, Row)]
        texts = list(dict.fromkeys(text for row in rows for text in splitter.split(row.text)))
    texts = [text for text in texts if text and len(text.split()) > 2]
    chosen = np.random.default_rng(seed).permutation(len(texts))[:count]
    return [texts[i] for i in chosen]


def write(path: Path, texts: list[str]) -> str:
    """Write sentences to a Parquet file with the column `text`, and return its path."""
    pq.write_table(pa.table({"text": texts}), path)
    return str(path)
