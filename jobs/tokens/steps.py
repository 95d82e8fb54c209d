"""The stages of `tokens`, which select winners or hard negatives, read them in pieces of shards, and write tables."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from jobs.engine.item import Item
from jobs.stage.dictionaries import block_of, dictionaries_of
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.estimate import by_workers, corpus_sample, of_all, spread_seconds
from jobs.stage.outputs import Output, TablePart, partial_file, read_notes, shard_file, table_part, write_partial
from jobs.stage.placement import Placement, run_scoring
from jobs.stage.runner import Stage, Step
from jobs.stage.stages import STAGES
from jobs.tokens.job import NEGATIVES, TokensConfig
from ops.dictionaries.description import Description
from ops.dictionaries.scorer import make_scorer
from ops.errors import counted
from ops.estimate.selection import expected_selected
from ops.estimate.timed_batches import Sentences, TimedBatches
from ops.explain.hard_negatives import MOST
from ops.model.activations import ScoreOptions, Scorer
from ops.model.batches import Lengths, batch_lengths
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.shards import Shards
from ops.storage.store import Store
from ops.tokens.negatives import hard_negatives
from ops.tokens.partial_file import write_rows
from ops.tokens.pieces import Piece, measure_piece, pieces, read_piece
from ops.tokens.range_tables import range_tables
from ops.tokens.winners import first_winners
from ops.topk.neurons import Neurons, parts, read_neurons

LITTLE = 100_000  # fewer winners than this are written in less time than a pool of workers takes to start
TOKEN_BYTES = 7  # bytes per token of a winner in token_activations/ (measured on 2,304 neurons and news: 6.7)
PEAK_BYTES = 230  # bytes per neuron and pole in peaks/ (measured on the same data: 226)
OF_WINNERS = ("no_peak", "higher_beside_words")  # counts that do not apply to hard negatives
COUNTED = ("sentences", "winners", "tokens", "truncated", "truncated_tokens", *OF_WINNERS, "activations_differ")


@dataclass(frozen=True)
class TokensArgs:
    """The arguments of every worker; `lengths` is an argument of `length_batches`, `stage` says what is read."""

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
    stage: str = "tokens"

    @property
    def wanted(self) -> Output:
        """The file that lists what is read for every neuron, sorted by sentence."""
        return partial_file(self.stage, "wanted")

    def select(self) -> pa.Table:
        """Return the sentences to read for every neuron, sorted by sentence (see `first_winners`)."""
        if self.stage == NEGATIVES:
            return hard_negatives(self.store, self.neurons)
        return first_winners(self.store, self.neurons, self.top)

    def scorer(self, pad_id: int) -> Scorer:
        """Return the scorer, with the model loaded."""
        return make_scorer(self.facts, self.options, pad_id, self.dictionaries, self.block)


def tokens_args(
    config: TokensConfig, facts: ModelFacts, place: Placement, stage: Stage, neurons: Neurons
) -> TokensArgs:
    """Return the arguments of the workers."""
    topk = stage.record.require("topk")
    lengths = batch_lengths(place.device, topk["counts"].get("equal_lengths", True))
    scoring, shards = run_scoring(topk["identity"], place), stage.record.shards()
    return TokensArgs(
        stage.store, facts, scoring, neurons, shards, config.top, place.token_budget, lengths, stage.fingerprint,
        dictionaries_of(topk, facts), block_of(topk), stage.name,
    )  # fmt: skip


def read_sentences(config: TokensConfig, facts: ModelFacts, place: Placement, stage: Stage) -> dict[str, Any]:
    """Do the missing items of all steps of a stage, and return the counts."""
    args = tokens_args(config, facts, place, stage, read_neurons(stage.store))
    stage.do(select_step(args))
    read = read_step(args, place)
    stage.do(read)
    files = [shard_file(args.stage, item["piece"]) for item in read.items]
    counts = add_up(read_notes(stage.store, files))
    stage.do(write_step(args, [file.path for file in files], counts["winners"]))
    what, table = ("winners", "topk/") if stage.name != NEGATIVES else ("hard negatives", "examples/")
    if counts["activations_differ"]:
        print(
            f"{stage.name}: {counts['activations_differ']:,} of {counts['winners']:,} {what} have a pooled activation "
            f"that differs from {table}'s by more than 0.00001 (at most {counts['largest_difference']:.2g}): other "
            "hardware or dtype",
            file=sys.stderr,
        )
    if stage.name == NEGATIVES:
        counts = {"negatives": counts.pop("winners"), **counts}
        return {name: count for name, count in counts.items() if name not in OF_WINNERS}
    return counts


def add_up(notes: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the total counts of all pieces; there may be no pieces."""
    total: dict[str, Any] = {name: sum(note.get(name, 0) for note in notes) for name in COUNTED}
    total["largest_difference"] = max((note["largest_difference"] for note in notes), default=0.0)
    return total


def select_step(args: TokensArgs) -> Step:
    """Return the step that finds the winners or hard negatives to read, and their sentences."""
    return Step(f"{args.stage}: select", [{}], lambda _: [args.wanted], Selector, {"args": args}, here=True)


def read_step(args: TokensArgs, placement: Placement) -> Step:
    """Return the step that reads the selected sentences, piece by piece."""
    (items,) = read_notes(args.store, [args.wanted])
    return Step(
        f"{args.stage}: read",
        items,
        lambda item: [shard_file(args.stage, item["piece"])],
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
    """Return the step that writes the tables, with one part for each range of neurons.

    Args:
        args: the arguments of the workers.
        files: the files of all pieces.
        winners: the number of winners.
    """
    items = [{"part": part, "first": first, "stop": stop} for part, first, stop in parts(len(args.neurons))]
    given, here = {"args": args, "files": files}, winners < LITTLE

    def outputs(item: Item) -> list[Output]:
        return [range_part(table, item) for table in sorted(STAGES[args.stage].tables)]

    return Step(f"{args.stage}: write", items, outputs, RangeWriter, given, "ranges of neurons", here=here)


def range_part(table: str, item: Item) -> TablePart:
    """Return the part of a table for a range of neurons."""
    return table_part(table, item["part"], f"neurons-{item['first']}-{item['stop']}")


def prepare_piece(item: Item, args: TokensArgs) -> Piece:
    """Read and tokenize the selected sentences of one piece; with GPUs, this runs on separate cores."""
    return read_piece(args.store, args.wanted.path, item, Tokenizer(args.facts))


class Selector:
    """Commits the list of what is read for every neuron, sorted by sentence."""

    def __init__(self, args: TokensArgs) -> None:
        self.args = args

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Select the sentences and commit the list."""
        args, wanted = self.args, self.args.select()
        ids = np.unique(wanted["sent_id"].to_numpy())
        write_partial(args.store, args.wanted, wanted, args.fingerprint, pieces(ids, args.shards))
        return {}


class TokenWorker:
    """Reads the selected sentences of pieces and commits a partial file for each piece."""

    def __init__(self, args: TokensArgs) -> None:
        self.args = args
        self.tokenizer = Tokenizer(args.facts)
        self.scorer = args.scorer(self.tokenizer.pad_id)

    def __call__(self, item: Item, prepared: Piece | None) -> Item:
        """Read the selected sentences of one piece and commit its partial file."""
        args = self.args
        piece = read_piece(args.store, args.wanted.path, item, self.tokenizer) if prepared is None else prepared
        rows, notes = measure_piece(self.scorer, piece, args.neurons, args.token_budget, args.lengths)
        write_partial(args.store, shard_file(args.stage, item["piece"]), rows, args.fingerprint, notes, write_rows)
        return {"sentences": notes["sentences"]}


class RangeWriter:
    """Writes the rows of ranges of neurons, combined from all pieces."""

    def __init__(self, args: TokensArgs, files: Sequence[str]) -> None:
        self.args, self.files = args, files

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Write the table parts of one range of neurons."""
        args, tables = self.args, sorted(STAGES[self.args.stage].tables)
        found: dict[str, Iterable[pa.Table]] = {table: [] for table in tables}
        if self.files:
            found |= range_tables(args.store, self.files, args.neurons, item["first"], item["stop"], tables)
        for table, groups in found.items():
            range_part(table, item).write(args.store, groups, args.fingerprint)
        return {}


def plan(config: TokensConfig, facts: ModelFacts, place: Placement, stage: Stage, record: DryRun) -> Plan:
    """Return what the stage would do."""
    topk, expected = record.require("topk"), record.is_expected("topk")
    args = tokens_args(config, facts, place, stage, Neurons(()) if expected else read_neurons(stage.store))
    sets = topk["counts"]["neurons"] * (2 if topk["identity"]["poles"] == "both" else 1)
    are_negatives = stage.name == NEGATIVES
    if are_negatives:
        expected = expected or record.is_expected("explain")
        most, drawn_from, about = MOST, topk["counts"]["activation_sample"], "at most "
    else:
        most, drawn_from, about = min(topk["identity"]["k"], args.top), args.shards.sentences, "about "
    each = min(most, drawn_from)
    rows, selected = sets * each, expected_selected(drawn_from, [(each, sets)])
    if not expected:
        wanted = args.select()
        rows, selected, about = len(wanted), len(np.unique(wanted["sent_id"].to_numpy())), ""
    missing = items = len(args.shards)
    if args.wanted.is_whole(stage.store, args.fingerprint):
        step = read_step(args, place)
        missing, items = len(stage.missing(step)), len(step.items)
    sample = corpus_sample(record, len(args.shards))
    seconds, basis = None, "nothing timed: there is no GPU here"
    if place.device == "cpu" or torch.cuda.is_available():
        timed = time_reading(args, sample, record.timed_s)
        worker_s = timed.seconds_for(selected) * missing / max(items, 1)
        seconds = spread_seconds(record, missing, place.workers, worker_s, actors=True)
        basis = f"timed {counted(timed.sentences, 'sentence')} in {timed.seconds:.1f} s"
    table = round(rows * float(sample.n_tokens.mean()) * TOKEN_BYTES + sets * (not are_negatives) * PEAK_BYTES)
    work = [
        f"read {about}{counted(selected, 'sentence')} token by token, {of_all(missing, items, 'shard')}",
        f"write {about}{counted(rows, 'hard negative' if are_negatives else 'winner')} of {sets:,} neurons and poles",
    ]
    counts = {"negatives" if are_negatives else "winners": rows, "sentences": selected}
    return Plan(work, seconds, table, 2 * table, [basis, by_workers(place.workers)], counts=counts)


def time_reading(args: TokensArgs, sample: Sentences, seconds: float) -> TimedBatches:
    """Run the model on batches for some seconds, and return the timed batches."""
    tokenizer = Tokenizer(args.facts)
    batches = TimedBatches(
        sample.sent_ids, sample.texts, sample.n_tokens, tokenizer, args.token_budget, seconds, args.lengths
    )
    scorer = args.scorer(tokenizer.pad_id)
    for _, tokens in batches:
        scorer.score(tokens)
    return batches
