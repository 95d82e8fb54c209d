"""Real sentences for benchmarks, the batches that they make, and the plain model's pass over them."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import torch

from ops.corpus.split_sentences import SentenceSplitter
from ops.model.batches import TokenBlock, encode_batches, pad
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer, Tokens
from ops.shards import Ids
from ops.sources.docstrings import pydocs_pieces, read_pydocs
from ops.sources.rows import Row

BUDGET = 2_048  # tokens of a batch, padding included
Batches = list[tuple[Ids, TokenBlock]]
Inputs = list[dict[str, torch.Tensor]]


def draw(count: int, seed: int) -> list[str]:
    """Return a seeded sample of real sentences of at least three words.

    The sentences come from the Parquet files of the folder corpora/ below ATLAS_TEST_DATA if that is set, otherwise
    from docstrings.
    """
    folder = Path(os.environ.get("ATLAS_TEST_DATA", "")) / "corpora"
    if os.environ.get("ATLAS_TEST_DATA") and folder.is_dir():
        files = sorted(folder.glob("*.parquet"))
        texts = [text for file in files for text in pq.read_table(file, columns=["text"])["text"].to_pylist()]
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


def tokenized(facts: ModelFacts, sentences: int, seed: int) -> tuple[Tokenizer, Batches]:
    """Return a model's tokenizer, and real sentences in batches as a shard has them, with ids from 0."""
    tokenizer = Tokenizer(facts)
    return tokenizer, batches_of(tokenizer, draw(sentences, seed))


def batches_of(tokenizer: Tokenizer, texts: list[str], first: int = 0) -> Batches:
    """Return the batches of a shard of these texts whose sentence ids start at `first`."""
    lengths = np.array([len(tokens.ids) for tokens in tokenizer.encode(texts)], np.int64)
    ids = np.arange(first, first + len(texts), dtype=np.int64)
    return list(encode_batches(ids, texts, lengths, tokenizer, BUDGET))


def padded(batches: Iterable[Sequence[Tokens]], pad_id: int) -> Inputs:
    """Return batches in the form that a model of transformers takes, on the CPU."""
    inputs = []
    for batch in batches:
        ids, real, _ = pad(batch, pad_id, torch.device("cpu"))
        inputs.append({"input_ids": ids, "attention_mask": real.long()})
    return inputs


@torch.inference_mode()
def read_plainly(model: torch.nn.Module, inputs: Inputs, times: int = 1) -> None:
    """Run the model over all batches, `times` times."""
    for _ in range(times):
        for batch in inputs:
            model(**batch)
