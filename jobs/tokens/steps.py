"""The stages of `tokens`, which select winners or hard negatives, read them in pieces of shards, and write tables."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from jobs.engine.item import Item
from jobs.run_folder.again import command
from jobs.run_folder.run import Run
from jobs.run_folder.stages import STAGES
from jobs.stage.checks import model_of_topk
from jobs.stage.costs import PASSES
from jobs.stage.dictionaries import ScorerArgs, block_of, dictionaries_of
from jobs.stage.model_time import pass_seconds
from jobs.stage.outputs import Noted, Output, partial_file, read_notes, shard_file
from jobs.stage.placement import Placement, choose_placement, run_scoring
from jobs.stage.ranges import range_part, table_ranges
from jobs.stage.runner import Stage, begin_stage
from jobs.stage.scored import Scored
from jobs.stage.step import Made, Step, Steps
from jobs.tokens.job import NEGATIVES, TokensConfig
from ops.estimate.selection import expected_selected
from ops.explain.hard_negatives import MOST
from ops.model.batches import Lengths, batch_lengths
from ops.model.tokenizer import Tokenizer
from ops.shards import Shards
from ops.tokens.negatives import hard_negatives
from ops.tokens.partial_file import write_rows
from ops.tokens.pieces import Piece, measure_piece, pieces, read_piece
from ops.tokens.range_tables import range_tables
from ops.tokens.winners import first_winners

LITTLE = 100_000  # fewer winners than this are written in less time than a pool of workers takes to start
OF_WINNERS = ("no_peak", "higher_beside_words")  # counts that do not apply to hard negatives
COUNTED = ("sentences", "winners", "tokens", "truncated", "truncated_tokens", *OF_WINNERS, "activations_differ")


def tokens(config: TokensConfig, run: Run) -> None:
    """Do the missing work of both stages."""
    read_winners(config, run)
    read_negatives(config, run)


def read_winners(config: TokensConfig, run: Run) -> None:
    """Read the first winners, or the missing part of them."""
    _read(config, run, "tokens", {"top": config.top}, ("winners", "winners token by token"))


def read_negatives(config: TokensConfig, run: Run) -> None:
    """Read the hard negatives, or the missing part of them; do nothing if `explain` has not chosen any."""
    explained = run.stage("explain") if run.complete("explain") else None
    if explained is None:
        return
    if explained["identity"].get("method", 1) != STAGES["explain"].method:
        print(
            "tokens: explain was run by another version of this program, which chose no hard negatives; to choose "
            f"them, run {command(config.out, 'explain', explained['config'], redo=True)}",
            file=sys.stderr,
        )
        return
    _read(config, run, NEGATIVES, {}, ("negatives", "hard negatives token by token"))


def _read(config: TokensConfig, run: Run, name: str, depends_on: dict[str, Any], counted: tuple[str, str]) -> None:
    """Run one of the stages, or the missing part of it."""
    run.require("ingest")
    topk = run.require("topk")
    run.require("annotate")
    facts = model_of_topk(run, config.model)
    dictionaries = dictionaries_of(topk, facts)
    placement = choose_placement(config, run, name)
    options = config.model_dump(mode="json") | {"device": placement.device, "token_budget": placement.token_budget}
    stage = begin_stage(name, config, run, {**depends_on, **placement.identity}, counted=counted, options=options)
    if stage is None:
        return
    scored = Scored.of(run)
    args = TokensArgs(
        store=stage.store, neurons=scored.neurons, seed=config.seed, facts=facts,
        options=run_scoring(scored.identity, placement), shards=run.shards(), top=config.top,
        token_budget=placement.token_budget,
        lengths=batch_lengths(placement.device, scored.counts.get("equal_lengths", True)), dictionaries=dictionaries,
        block=block_of(topk), stage=name,
    )  # fmt: skip
    most, sentences = (MOST, scored.sampled) if args.of_negatives else (config.top, scored.sentences)
    each = min(most, scored.k, sentences)
    rows = dict.fromkeys(STAGES[name].tables, scored.sets) | {args.table: scored.sets * each}
    counts = {"negatives" if args.of_negatives else "winners": rows[args.table]}
    expected = expected_selected(sentences, [(each, scored.sets)])
    notes = [f"about {expected:,} sentences are read token by token"]
    stage.complete(tokens_steps(args, placement, stage, expected), rows, counts, notes)


@dataclass(frozen=True, kw_only=True)
class TokensArgs(ScorerArgs):
    """The arguments of every worker; `lengths` is an argument of `length_batches`, `stage` says what is read."""

    shards: Shards
    top: int
    token_budget: int
    lengths: Lengths
    stage: str

    @property
    def of_negatives(self) -> bool:
        """Whether hard negatives are read, rather than winners."""
        return self.stage == NEGATIVES

    @property
    def table(self) -> str:
        """The table with a row for each winner or hard negative."""
        return "negative_tokens" if self.of_negatives else "token_activations"

    @property
    def wanted(self) -> Output:
        """The file that lists what is read for every neuron, sorted by sentence."""
        return partial_file(self.stage, "wanted")

    def piece_file(self, piece: int) -> Output:
        """Return the partial file of a piece."""
        return replace(shard_file(self.stage, piece), writer=write_rows)


def tokens_steps(args: TokensArgs, placement: Placement, stage: Stage, expected: int) -> Steps:
    """Select what is read, read it piece by piece, write the tables and return the counts.

    Args:
        args, placement, stage: the arguments of the workers, where the model runs, and the stage.
        expected: the number of sentences to read, for a plan before they are selected.
    """
    reading = partial(
        pass_seconds, facts=args.facts, placement=placement, dtype=args.options.dtype, passes=PASSES["tokens"]
    )  # fmt: skip
    yield [
        Step(
            name=f"{args.stage}: select", items=[{}], outputs=lambda _: [args.wanted], worker=select_sentences,
            args={"args": args}, here=True, estimate=partial(reading, sentences=expected),
        )
    ]  # fmt: skip
    (items,) = read_notes(args.store, [args.wanted])
    sentences = sum(item["sentences"] for item in items)
    yield [
        Step(
            name=f"{args.stage}: read", items=items, outputs=lambda item: [args.piece_file(item["piece"])],
            worker=PieceReader, args={"args": args}, unit="pieces", work=("sentences", sentences),
            prepare=partial(prepare_piece, args=args), estimate=partial(reading, sentences=sentences),
            **placement.spread,
        )
    ]  # fmt: skip
    files = [args.piece_file(item["piece"]) for item in items]
    counts = add_up(read_notes(args.store, files))
    ranges, paths = table_ranges(len(args.neurons)), [file.path for file in files]
    yield [
        Step(
            name=f"{args.stage}: write", items=ranges,
            outputs=lambda item: [range_part(table, item) for table in sorted(STAGES[args.stage].tables)],
            worker=write_range, args={"args": args, "files": paths}, unit="ranges of neurons",
            here=counts["winners"] < LITTLE,
        )
    ]  # fmt: skip
    what, table = ("hard negatives", "examples/") if args.of_negatives else ("winners", "topk/")
    if counts["activations_differ"]:
        print(
            f"{stage.name}: {counts['activations_differ']:,} of {counts['winners']:,} {what} have a pooled activation "
            f"that differs from {table}'s by more than 0.00001 (at most {counts['largest_difference']:.2g}): other "
            "hardware or dtype",
            file=sys.stderr,
        )
    if args.of_negatives:
        counts = {"negatives": counts.pop("winners"), **counts}
        return {name: count for name, count in counts.items() if name not in OF_WINNERS}
    return counts


def add_up(notes: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the total counts of all pieces; there may be no pieces."""
    total: dict[str, Any] = {name: sum(note.get(name, 0) for note in notes) for name in COUNTED}
    total["largest_difference"] = max((note["largest_difference"] for note in notes), default=0.0)
    return total


def select_sentences(item: Item, args: TokensArgs) -> Made:
    """List what is read for every neuron, sorted by sentence."""
    if args.of_negatives:
        wanted = hard_negatives(args.store, args.neurons)
    else:
        wanted = first_winners(args.store, args.neurons, args.top)
    return {args.wanted: Noted(wanted, pieces(np.unique(wanted["sent_id"].to_numpy()), args.shards))}


def prepare_piece(item: Item, args: TokensArgs) -> Piece:
    """Read and tokenize the selected sentences of one piece; with GPUs, this runs on separate cores."""
    return read_piece(args.store, args.wanted.path, item, Tokenizer(args.facts))


class PieceReader:
    """Reads the selected sentences of pieces token by token."""

    def __init__(self, args: TokensArgs) -> None:
        self.args = args
        self.tokenizer = Tokenizer(args.facts)
        self.scorer = args.scorer(self.tokenizer.pad_id)

    def __call__(self, item: Item, prepared: Piece | None) -> Made:
        """Read the selected sentences of one piece."""
        args = self.args
        piece = read_piece(args.store, args.wanted.path, item, self.tokenizer) if prepared is None else prepared
        rows, notes = measure_piece(self.scorer, piece, args.neurons, args.token_budget, args.lengths)
        return {args.piece_file(item["piece"]): Noted(rows, notes)}


def write_range(item: Item, args: TokensArgs, files: list[str]) -> Made:
    """Combine the rows of one range of neurons from all pieces."""
    names = sorted(STAGES[args.stage].tables)
    tables: dict[str, Iterable[pa.Table]] = {table: [] for table in names}
    if files:
        tables |= range_tables(args.store, files, args.neurons, item["first"], item["stop"], names)
    return {range_part(table, item): groups for table, groups in tables.items()}
