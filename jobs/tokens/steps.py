"""The stage `tokens`: it selects winners and hard negatives, reads them in pieces of shards, and writes tables."""

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
from jobs.stage.checks import model_of_topk
from jobs.stage.costs import PASSES
from jobs.stage.dictionaries import ScorerArgs, block_of, dictionaries_of
from jobs.stage.model_time import model_step, pass_seconds
from jobs.stage.outputs import Noted, Output, partial_file, read_notes, shard_file
from jobs.stage.placement import Placement, choose_placement, run_scoring
from jobs.stage.ranges import range_part, table_ranges
from jobs.stage.runner import Stage, begin_stage
from jobs.stage.scored import Scored
from jobs.stage.step import Made, Step, Steps
from jobs.tokens.job import TokensConfig
from ops.explain.examples import MOST_NEGATIVES
from ops.model.tokenizer import Tokenizer
from ops.sampling import expected_selected
from ops.shards import Shards
from ops.tokens.pieces import Piece, measure_piece, pieces, read_piece, write_rows
from ops.tokens.range_tables import range_tables
from ops.tokens.winners import first_winners

LITTLE = 150_000  # fewer rows than this are written in less time than a pool of workers takes to start
WINNERS = ("peaks", "token_activations")  # the tables of winners
WANTED = partial_file("tokens", "wanted")  # what is read for every neuron, sorted by sentence
COUNTED = (
    "sentences", "winners", "negatives", "tokens", "truncated", "truncated_tokens", "no_peak", "activations_differ",
)  # fmt: skip


def tokens(config: TokensConfig, run: Run) -> None:
    """Read the first winners, and the hard negatives if `explain` has chosen any, or the missing part of them."""
    run.require("ingest")
    topk = run.require("topk")
    run.require("annotate")
    facts = model_of_topk(run, config.model)
    dictionaries = dictionaries_of(run, facts)
    placement = choose_placement(config, run, "tokens")
    tables = tables_of(run)
    options = config.model_dump(mode="json") | {"device": placement.device, "token_budget": placement.token_budget}
    depends_on = {"top": config.top, **placement.identity}
    counted = ("winners", "winners token by token")
    stage = begin_stage("tokens", config, run, depends_on, counted=counted, options=options)
    if stage is None:
        return
    scored = Scored.of(run)
    args = TokensArgs(
        store=stage.store, neurons=scored.neurons, seed=config.seed, facts=facts,
        options=run_scoring(scored.identity, placement), shards=run.shards(), top=config.top,
        token_budget=placement.token_budget,
        equal_lengths=scored.counts.get("equal_lengths", True), dictionaries=dictionaries,
        block=block_of(topk), tables=tables,
    )  # fmt: skip
    winners, negatives = min(config.top, scored.k), min(MOST_NEGATIVES, scored.sampled)
    negatives = negatives if "negative_tokens" in tables else 0
    expected = expected_selected(scored.sentences, [(winners, scored.sets), (negatives, scored.sets)])
    counts = {"winners": scored.sets * winners, "negatives": scored.sets * negatives}
    rows = {"peaks": scored.sets, "token_activations": counts["winners"], "negative_tokens": counts["negatives"]}
    notes = [f"about {expected:,} sentences are read token by token"]
    stage.complete(tokens_steps(args, placement, stage, expected), rows, counts, notes)


def tables_of(run: Run) -> tuple[str, ...]:
    """Return the tables to write; those of hard negatives are among them if this version's `explain` is complete."""
    if "explain" in run.read_by("tokens"):
        return ("negative_tokens", *WINNERS)
    if run.complete("explain"):
        explained = command(run.store.uri, "explain", run.require("explain")["config"], redo=True)
        print(
            "tokens: explain was run by another version of this program, and its hard negatives are not read; "
            f"to choose them again, run {explained}",
            file=sys.stderr,
        )
    return WINNERS


@dataclass(frozen=True, kw_only=True)
class TokensArgs(ScorerArgs):
    """The arguments of every worker; `equal_lengths` is as in `length_batches`, `tables` are those to write."""

    shards: Shards
    top: int
    token_budget: int
    equal_lengths: bool
    tables: tuple[str, ...] = WINNERS


def piece_file(item: Item) -> Output:
    """Return the partial file of a piece."""
    return replace(shard_file("tokens", item["piece"]), writer=write_rows)


def tokens_steps(args: TokensArgs, placement: Placement, stage: Stage, expected: int) -> Steps:
    """Select what is read, read it piece by piece, write the tables and return the counts."""
    reading = partial(
        pass_seconds, facts=args.facts, placement=placement, dtype=args.options.dtype, sentences=expected,
        passes=PASSES["tokens"],
    )  # fmt: skip
    yield [
        Step(
            name="tokens: select", items=[{}], outputs=lambda _: [WANTED], worker=select_sentences,
            args={"args": args}, here=True, estimate=reading,
        )
    ]  # fmt: skip
    (items,) = read_notes(args.store, [WANTED])
    sentences = sum(item["sentences"] for item in items)
    yield [
        model_step(
            args.facts, placement, args.options.dtype, sentences, PASSES["tokens"], name="tokens: read", items=items,
            outputs=lambda item: [piece_file(item)], worker=PieceReader, args={"args": args},
            unit="pieces", work=("sentences", sentences), prepare=partial(prepare_piece, args=args),
        )
    ]  # fmt: skip
    files = [piece_file(item) for item in items]
    notes = read_notes(args.store, files)
    counts: dict[str, Any] = {name: sum(note.get(name, 0) for note in notes) for name in COUNTED}
    counts["largest_difference"] = max((note["largest_difference"] for note in notes), default=0.0)
    ranges, paths = table_ranges(len(args.neurons)), [file.path for file in files]
    rows = counts["winners"] + counts["negatives"]
    yield [
        Step(
            name="tokens: write", items=ranges, outputs=lambda item: [range_part(table, item) for table in args.tables],
            worker=write_range, args={"args": args, "files": paths}, unit="ranges of neurons", here=rows < LITTLE,
        )
    ]  # fmt: skip
    if counts["activations_differ"]:
        stage.say(
            f"{counts['activations_differ']:,} of {rows:,} winners and hard negatives have a pooled activation that "
            "differs from that of topk/ or examples/ by more than 0.00001 (at most "
            f"{counts['largest_difference']:.2g}): other hardware or dtype"
        )
    return counts


def select_sentences(item: Item, args: TokensArgs) -> Made:
    """List what is read for every neuron, sorted by sentence."""
    wanted = first_winners(args.store, args.neurons, args.top, "negative_tokens" in args.tables)
    return {WANTED: Noted(wanted, pieces(np.unique(wanted["sent_id"].to_numpy()), args.shards))}


def prepare_piece(item: Item, args: TokensArgs) -> Piece:
    """Read and tokenize the selected sentences of one piece; with GPUs, this runs on separate cores."""
    return read_piece(args.store, WANTED.path, item, Tokenizer(args.facts))


class PieceReader:
    """Reads the selected sentences of pieces token by token."""

    def __init__(self, args: TokensArgs) -> None:
        self.args = args
        self.tokenizer = Tokenizer(args.facts)
        self.scorer = args.scorer(self.tokenizer.pad_id)

    def __call__(self, item: Item, prepared: Piece | None) -> Made:
        """Read the selected sentences of one piece."""
        args = self.args
        piece = read_piece(args.store, WANTED.path, item, self.tokenizer) if prepared is None else prepared
        rows, notes = measure_piece(self.scorer, piece, args.neurons, args.token_budget, args.equal_lengths)
        return {piece_file(item): Noted(rows, notes)}


def write_range(item: Item, args: TokensArgs, files: list[str]) -> Made:
    """Combine the rows of one range of neurons from all pieces."""
    tables: dict[str, Iterable[pa.Table]] = {table: [] for table in args.tables}
    if files:
        tables |= range_tables(args.store, files, args.neurons, item["first"], item["stop"], args.tables)
    return {range_part(table, item): groups for table, groups in tables.items()}
