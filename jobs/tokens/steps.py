"""The steps of `tokens` that read: the first winners are selected, and read token by token in pieces of shards."""

import json
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from jobs.engine.item import Item
from jobs.stage.layout import shard_file, wanted_file
from jobs.stage.placement import Placement
from jobs.stage.runner import Step
from ops.model.activations import ScoreOptions, Scorer
from ops.model.batches import Lengths
from ops.model.load import ModelFacts
from ops.model.tokenizer import PlacedTokens, Tokenizer
from ops.sentences.token_words import words_of_tokens
from ops.sentences.word_spans import word_spans
from ops.shards import Ids, Shards
from ops.storage.range_file import read_between
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store
from ops.storage.tables import part_name
from ops.tokens.partial_file import piece_rows, write_partial
from ops.tokens.pieces import pieces
from ops.tokens.read_tokens import beyond, read_tokens
from ops.tokens.winners import first_winners, place_winners
from ops.topk.neurons import Neurons, layer_widths

COLUMNS = ["sent_id", "text", "words", "tags"]

Words = list[Any]


@dataclass(frozen=True)
class TokensArgs:
    """What every worker is made from; `lengths` as `length_batches` takes it."""

    store: Store
    facts: ModelFacts
    options: ScoreOptions
    neurons: Neurons
    shards: Shards
    top: int
    token_budget: int
    lengths: Lengths
    fingerprint: str

    def of_these_neurons(self) -> "TokensArgs":
        """Return the same with the neurons that `activations/` has."""
        return replace(self, neurons=Neurons(layer_widths(self.store)))


def select_step(args: TokensArgs) -> Step:
    """Return the step that finds the first winners and their sentences."""
    return Step("tokens: select", [{}], lambda _: [wanted_file()], Selector, {"args": args}, here=True)


class Selector:
    """Commits the first winners, sorted by sentence."""

    def __init__(self, args: TokensArgs) -> None:
        self.args = args

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Select them."""
        wanted = first_winners(self.args.store, self.args.neurons, self.args.top)
        ids = np.unique(wanted["sent_id"].to_numpy())
        output = wanted_file()
        footer = output.footer(self.args.fingerprint, wanted.num_rows)
        footer[b"atlas.notes"] = json.dumps(pieces(ids, self.args.shards)).encode()
        described = wanted.replace_schema_metadata(footer)
        self.args.store.commit(output.path, lambda path: pq.write_table(described, path, compression="zstd"))
        return {}


def read_step(args: TokensArgs, placement: Placement) -> Step:
    """Return the step that reads the selected sentences, piece by piece."""
    with args.store.parquet(wanted_file().path) as file:
        items = json.loads(file.schema_arrow.metadata[b"atlas.notes"])
    return Step(
        "tokens: read",
        items,
        lambda item: [shard_file("tokens", item["piece"])],
        TokenWorker,
        {"args": args},
        "pieces",
        ("sentences", sum(item["sentences"] for item in items)),
        partial(prepare_piece, args=args) if placement.reads_ahead else None,
        placement.holds,
        placement.workers,
        actors=True,
    )


Prepared = tuple[pa.Table, pa.Table, list[PlacedTokens], Words]


def prepare_piece(item: Item, args: TokensArgs) -> Prepared:
    """Read and tokenize the selected sentences of one piece (with GPUs on cores of its own)."""
    return prepare(item, args, Tokenizer(args.facts))


def prepare(item: Item, args: TokensArgs, tokenizer: Tokenizer) -> Prepared:
    """Return the piece's winners, their sentences, these' tokens, and the word at which each token stands."""
    first, last = item["first"], item["last"]
    wanted = read_between(args.store, wanted_file().path, "sent_id", first, last)
    sentences = read_between(args.store, part_name("sentences", item["shard"]), "sent_id", first, last, COLUMNS)
    sentences = sentences.filter(pc.is_in(sentences["sent_id"], pc.unique(wanted["sent_id"])))
    placed, words = tokenize(sentences, tokenizer)
    return wanted, sentences, placed, words


def tokenize(sentences: pa.Table, tokenizer: Tokenizer) -> tuple[list[PlacedTokens], Words]:
    """Return the tokens of sentences, and the word at which each token stands."""
    texts, own = sentences["text"].to_pylist(), sentences["words"].to_pylist()
    placed = tokenizer.encode_with_spans(texts)
    spans = [word_spans(text, words or []) for text, words in zip(texts, own, strict=True)]
    return placed, [words_of_tokens(p.spans, s) for p, s in zip(placed, spans, strict=True)]


class TokenWorker:
    """Reads the selected sentences of piece after piece and commits each one's partial file."""

    def __init__(self, args: TokensArgs) -> None:
        self.args = args
        self.tokenizer = Tokenizer(args.facts)
        self.scorer = Scorer(args.facts, args.options, self.tokenizer.pad_id)

    def __call__(self, item: Item, prepared: Prepared | None) -> Item:
        """Read one piece."""
        args = self.args
        wanted, sentences, placed, words = prepared or prepare(item, args, self.tokenizer)
        ids: Ids = sentences["sent_id"].to_numpy()
        winners = place_winners(wanted, ids, args.neurons)
        found = read_tokens(self.scorer, winners, placed, words, args.token_budget, args.lengths)
        rows = piece_rows(wanted, winners, placed, sentences, found)
        notes = {
            "sentences": len(ids),
            "winners": len(winners.sentence),
            "tokens": sum(len(p.strings) for p in placed),
            "truncated": sum(p.tokens.cut for p in placed),
            "no_peak": int((found.peak < 0).sum()),
            "higher_beside_words": found.beside_words,
            "activations_differ": int(beyond(found.difference, winners.activation).sum()),
            "largest_difference": float(found.difference.max()),
        }
        output = shard_file("tokens", item["piece"])
        footer = {**output.footer(args.fingerprint, rows.num_rows), b"atlas.notes": json.dumps(notes).encode()}
        args.store.commit(output.path, lambda path: write_partial(path, rows, footer))
        return {"sentences": len(ids)}


def read_notes(store: Store, piece_numbers: list[int]) -> dict[str, Any]:
    """Return the counts of all pieces together."""

    def of_piece(piece: int) -> dict[str, Any]:
        with store.parquet(shard_file("tokens", piece).path) as file:
            found: dict[str, Any] = json.loads(file.schema_arrow.metadata[b"atlas.notes"])
        return found

    notes = list(side_by_side(of_piece, piece_numbers))
    counts: dict[str, Any] = {name: sum(note[name] for note in notes) for name in notes[0]}
    return counts | {"largest_difference": max(note["largest_difference"] for note in notes)}
