"""The stage `tokens`: the first winners are selected, read in pieces of shards, and written by neuron."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from jobs.engine.item import Item
from jobs.stage.dictionaries import block_of, dictionaries_of
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import by_workers, corpus_sample, of_all, spread_seconds
from jobs.stage.files import Output, TablePart, partial_file, read_notes, shard_file, table_part, write_partial
from jobs.stage.placement import Placement, run_scoring
from jobs.stage.runner import Stage, Step
from jobs.tokens.job import TokensConfig
from ops.dictionaries.description import Description
from ops.dictionaries.scorer import make_scorer
from ops.errors import counted
from ops.estimate.selection import expected_selected
from ops.estimate.timed_batches import Sentences, TimedBatches
from ops.model.activations import ScoreOptions, Scorer
from ops.model.batches import Lengths, batch_lengths
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.shards import Shards
from ops.storage.store import Store
from ops.tokens.partial_file import write_rows
from ops.tokens.pieces import Piece, measure_piece, pieces, read_piece
from ops.tokens.range_tables import range_tables
from ops.tokens.winners import first_winners
from ops.topk.neurons import Neurons, parts, read_neurons

WANTED = partial_file("tokens", "wanted")  # the first winners of every neuron, by sentence
LITTLE = 100_000  # winners that are written sooner than a pool of workers is there
TOKEN_BYTES = 7  # of a winner in token_activations/ (measured on 2,304 neurons and news: 6.7)
PEAK_BYTES = 230  # of a neuron and pole in peaks/ (there: 226)


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
    dictionaries: tuple[Description, ...] = ()
    block: int | None = None

    def scorer(self, pad_id: int) -> Scorer:
        """Return the model, ready to read."""
        return make_scorer(self.facts, self.options, pad_id, self.dictionaries, self.block)


def tokens_args(
    config: TokensConfig, facts: ModelFacts, place: Placement, stage: Stage, neurons: Neurons
) -> TokensArgs:
    """Return what the workers are made from."""
    topk = stage.record.require("topk")
    lengths = batch_lengths(place.device, topk["counts"].get("equal_lengths", True))
    scoring, shards = run_scoring(topk["identity"], place), stage.record.shards()
    return TokensArgs(
        stage.store, facts, scoring, neurons, shards, config.top, place.token_budget, lengths, stage.fingerprint,
        dictionaries_of(topk, facts), block_of(topk),
    )  # fmt: skip


def read_winners(config: TokensConfig, facts: ModelFacts, place: Placement, stage: Stage) -> dict[str, Any]:
    """Do what is missing of all steps, and return the counts."""
    args = tokens_args(config, facts, place, stage, read_neurons(stage.store))
    stage.do(select_step(args))
    read = read_step(args, place)
    stage.do(read)
    files = [shard_file("tokens", item["piece"]) for item in read.items]
    notes = read_notes(stage.store, files)
    counts: dict[str, Any] = {name: sum(note[name] for note in notes) for name in notes[0]}
    counts["largest_difference"] = max(note["largest_difference"] for note in notes)
    stage.do(write_step(args, [file.path for file in files], counts["winners"]))
    if counts["activations_differ"]:
        print(
            f"tokens: {counts['activations_differ']:,} of {counts['winners']:,} winners pooled anew are not topk/'s "
            f"activation within 0.00001 (by up to {counts['largest_difference']:.2g}): other hardware or dtype",
            file=sys.stderr,
        )
    return counts


def select_step(args: TokensArgs) -> Step:
    """Return the step that finds the first winners and their sentences."""
    return Step("tokens: select", [{}], lambda _: [WANTED], Selector, {"args": args}, here=True)


def read_step(args: TokensArgs, placement: Placement) -> Step:
    """Return the step that reads the selected sentences, piece by piece."""
    (items,) = read_notes(args.store, [WANTED])
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


def write_step(args: TokensArgs, files: Sequence[str], winners: int) -> Step:
    """Return the step that writes the tables, a part for each range of neurons.

    Args:
        args: what the workers are made from.
        files: those of all pieces.
        winners: how many there are.
    """
    items = [{"part": part, "first": first, "stop": stop} for part, first, stop in parts(len(args.neurons))]
    given, here = {"args": args, "files": files}, winners < LITTLE

    def outputs(item: Item) -> list[Output]:
        return [range_part(table, item) for table in ("peaks", "token_activations")]

    return Step("tokens: write", items, outputs, RangeWriter, given, "ranges of neurons", here=here)


def range_part(table: str, item: Item) -> TablePart:
    """Return a table's part of a range of neurons."""
    return table_part(table, item["part"], f"neurons-{item['first']}-{item['stop']}")


def prepare_piece(item: Item, args: TokensArgs) -> Piece:
    """Read and tokenize the selected sentences of one piece (with GPUs on cores of its own)."""
    return read_piece(args.store, WANTED.path, item, Tokenizer(args.facts))


class Selector:
    """Commits the first winners, sorted by sentence."""

    def __init__(self, args: TokensArgs) -> None:
        self.args = args

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Select them."""
        wanted = first_winners(self.args.store, self.args.neurons, self.args.top)
        ids = np.unique(wanted["sent_id"].to_numpy())
        write_partial(self.args.store, WANTED, wanted, self.args.fingerprint, pieces(ids, self.args.shards))
        return {}


class TokenWorker:
    """Reads the selected sentences of piece after piece and commits each one's partial file."""

    def __init__(self, args: TokensArgs) -> None:
        self.args = args
        self.tokenizer = Tokenizer(args.facts)
        self.scorer = args.scorer(self.tokenizer.pad_id)

    def __call__(self, item: Item, prepared: Piece | None) -> Item:
        """Read one piece."""
        args = self.args
        piece = read_piece(args.store, WANTED.path, item, self.tokenizer) if prepared is None else prepared
        rows, notes = measure_piece(self.scorer, piece, args.neurons, args.token_budget, args.lengths)
        write_partial(args.store, shard_file("tokens", item["piece"]), rows, args.fingerprint, notes, write_rows)
        return {"sentences": notes["sentences"]}


class RangeWriter:
    """Writes the rows of one range of neurons, all pieces together."""

    def __init__(self, args: TokensArgs, files: Sequence[str]) -> None:
        self.args, self.files = args, files

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Write one range."""
        args = self.args
        found = range_tables(args.store, self.files, args.neurons, item["first"], item["stop"])
        for table, groups in found.items():
            range_part(table, item).write(args.store, groups, args.fingerprint)
        return {}


def plan(config: TokensConfig, facts: ModelFacts, place: Placement, stage: Stage, record: DryRun) -> Plan:
    """Return what the stage would do."""
    topk, expected = record.require("topk"), record.is_expected("topk")
    args = tokens_args(config, facts, place, stage, Neurons(()) if expected else read_neurons(stage.store))
    sets = topk["counts"]["neurons"] * (2 if topk["identity"]["poles"] == "both" else 1)
    k = min(topk["identity"]["k"], args.top, args.shards.sentences)
    if expected:
        selected, about = expected_selected(args.shards.sentences, [(k, sets)]), "about "
    else:
        wanted = first_winners(args.store, args.neurons, args.top)
        selected, about = len(np.unique(wanted["sent_id"].to_numpy())), ""
    missing = items = len(args.shards)
    if WANTED.is_whole(stage.store, args.fingerprint):
        step = read_step(args, place)
        missing, items = len(stage.missing(step)), len(step.items)
    sample = corpus_sample(record, len(args.shards))
    seconds, basis = None, "nothing timed: no GPU is to be seen here"
    if place.device == "cpu" or torch.cuda.is_available():
        timed = time_reading(args, sample, record.timed_s)
        worker_s = timed.seconds_for(selected) * missing / max(items, 1)
        seconds = spread_seconds(record, missing, place.workers, worker_s, actors=True)
        basis = f"timed {counted(timed.sentences, 'sentence')} in {timed.seconds:.1f} s"
    table = round(sets * k * float(sample.n_tokens.mean()) * TOKEN_BYTES + sets * PEAK_BYTES)
    work = [
        f"read {about}{counted(selected, 'sentence')} token by token, {of_all(missing, items, 'shard')}",
        f"write {about}{counted(sets * k, 'winner')} of {sets:,} neurons and poles",
    ]
    counts = {"winners": sets * k, "sentences": selected}
    return Plan(work, seconds, table, 2 * table, [basis, by_workers(place.workers)], counts=counts)


def time_reading(args: TokensArgs, sample: Sentences, seconds: float) -> TimedBatches:
    """Put batches through the model for some seconds."""
    tokenizer = Tokenizer(args.facts)
    batches = TimedBatches(
        sample.sent_ids, sample.texts, sample.n_tokens, tokenizer, args.token_budget, seconds, args.lengths
    )
    scorer = args.scorer(tokenizer.pad_id)
    for _, tokens in batches:
        scorer.score(tokens)
    return batches
