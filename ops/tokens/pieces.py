"""Pieces of shards, which are small enough that even a few shards keep all workers busy, and their partial files."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ops.arrays import Int32s
from ops.model.activations import Scorer
from ops.model.tokenizer import PlacedTokens, Tokenizer
from ops.sentences.codes import document_codes
from ops.sentences.word_spans import word_spans, words_of_tokens
from ops.shards import Ids, Shards
from ops.storage.range_file import read_between
from ops.storage.store import Store
from ops.storage.tables import COMPRESSION, part_name
from ops.tokens.read_tokens import TokenActivations, beyond, read_tokens
from ops.tokens.winners import Winners, place_winners
from ops.topk.neurons import Neurons

PER_PIECE = 512  # maximum number of sentences in a piece
COLUMNS = ["sent_id", "text", "dataset", "doc_id", "words", "tags"]
GROUP_ROWS = 4_096


def pieces(ids: Ids, shards: Shards) -> list[dict[str, int]]:
    """Return the selected sentences in pieces, each from one shard and with at most `PER_PIECE` sentences.

    `ids` are the ids of the selected sentences, sorted, each once.

    Returns:
        For each piece, its index `piece`, its `shard`, the ids of its `first` and `last` sentence, and its number of
        selected `sentences`.
    """
    rows: list[dict[str, int]] = []
    for shard, shard_ids in enumerate(shards.split(ids)):
        for part in np.array_split(shard_ids, -(-len(shard_ids) // PER_PIECE)) if len(shard_ids) else []:
            span = {"first": int(part[0]), "last": int(part[-1])}
            rows.append({"piece": len(rows), "shard": shard, **span, "sentences": len(part)})
    return rows


class Piece(NamedTuple):
    """A piece that was read and tokenized.

    Attributes:
        wanted: the piece's winners and hard negatives, with the columns of `ops.tokens.winners.SCHEMA`.
        sentences: their sentences, with the columns `COLUMNS`.
        placed: the tokens of each sentence.
        words: for each sentence, the index of the word to which each token belongs, or -1 for none.
    """

    wanted: pa.Table
    sentences: pa.Table
    placed: list[PlacedTokens]
    words: list[Int32s]


def read_piece(store: Store, wanted: str, piece: Mapping[str, int], tokenizer: Tokenizer) -> Piece:
    """Read and tokenize the selected sentences of one piece, as `pieces` returns it.

    `wanted` is the path of the file of everything that is read, sorted by sentence (`first_winners`).
    """
    first, last = piece["first"], piece["last"]
    rows = read_between(store, wanted, "sent_id", first, last)
    sentences = read_between(store, part_name("sentences", piece["shard"]), "sent_id", first, last, COLUMNS)
    sentences = sentences.filter(pc.is_in(sentences["sent_id"], pc.unique(rows["sent_id"])))
    texts, words = sentences["text"].to_pylist(), sentences["words"].to_pylist()
    placed = tokenizer.encode_with_spans(texts)
    spans = [word_spans(text, sentence_words or []) for text, sentence_words in zip(texts, words, strict=True)]
    return Piece(rows, sentences, placed, [words_of_tokens(p.spans, s) for p, s in zip(placed, spans, strict=True)])


def measure_piece(
    scorer: Scorer, piece: Piece, neurons: Neurons, budget: int, equal_lengths: bool
) -> tuple[pa.Table, dict[str, Any]]:
    """Return a piece's winners and hard negatives token by token, and counts of what was read.

    `activations_differ` counts what differs from the activation that `topk/` or `examples/` contains. `budget` and
    `equal_lengths` are the arguments of `length_batches`.
    """
    ids: Ids = piece.sentences["sent_id"].to_numpy()
    winners = place_winners(piece.wanted, ids, neurons)
    tokens = read_tokens(scorer, winners, piece.placed, piece.words, budget, equal_lengths)
    won = ~piece.wanted["is_negative"].to_numpy()
    notes = {
        "sentences": len(ids),
        "winners": int(won.sum()),
        "negatives": int((~won).sum()),
        "tokens": sum(len(p.strings) for p in piece.placed),
        "truncated": sum(p.tokens.cut > 0 for p in piece.placed),
        "truncated_tokens": sum(p.tokens.cut for p in piece.placed),
        "no_peak": int((tokens.peak[won] < 0).sum()),
        "activations_differ": int(beyond(tokens.difference, winners.activation).sum()),
        "largest_difference": float(tokens.difference.max()),
    }
    return piece_rows(piece, winners, tokens), notes


def piece_rows(piece: Piece, winners: Winners, tokens: TokenActivations) -> pa.Table:
    """Return a piece's winners and hard negatives token by token, sorted by set, winners first, and rank."""
    spans = [[span or (None, None) for span in p.spans] for p in piece.placed]
    by_sentence = {
        "tokens": pa.array([p.strings for p in piece.placed], pa.list_(pa.string())),
        "starts": pa.array([[start for start, _ in pairs] for pairs in spans], pa.list_(pa.int32())),
        "ends": pa.array([[end for _, end in pairs] for pairs in spans], pa.list_(pa.int32())),
        "words": piece.sentences["words"],
        "tags": piece.sentences["tags"],
        "document": document_codes(piece.sentences["dataset"], piece.sentences["doc_id"]),
    }
    order = pc.sort_indices(piece.wanted, [(name, "ascending") for name in ("set", "is_negative", "rank")])
    activations = pa.ListArray.from_arrays(tokens.offsets.astype(np.int32), pa.array(tokens.values))
    sentence = pa.array(winners.sentence).take(order)
    return pa.table(
        {
            **{name: piece.wanted[name].take(order) for name in ("set", "is_negative", "rank", "sent_id")},
            "activations": activations.take(order),
            "peak": pa.array(tokens.peak).take(order),
            **{name: column.take(sentence) for name, column in by_sentence.items()},
        }
    )


def write_rows(rows: pa.Table, path: str) -> None:
    """Write a piece's rows and their schema's metadata, so that they can be read by ranges of sets."""
    pq.write_table(rows, path, row_group_size=GROUP_ROWS, compression=COMPRESSION, write_page_checksum=True)
