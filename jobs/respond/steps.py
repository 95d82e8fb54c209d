"""Reads texts, scores them in blocks, and prints or writes how unusual they are; also answers the pages of `browse`."""

import base64
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from jobs.engine.connect import has_gpus
from jobs.engine.fan_out import Spread, fan_out
from jobs.engine.item import Item
from jobs.engine.progress import Progress
from jobs.respond.job import TOP, RespondConfig
from jobs.run_folder.run import RunReader
from jobs.stage.checks import model_of_topk
from jobs.stage.dictionaries import ScorerArgs, block_of, dictionaries_of
from jobs.stage.placement import Placement, run_scoring
from ops.arrays import Float32s, Int64s
from ops.errors import InputError
from ops.facts.text import wrap
from ops.model.activations import Scorer
from ops.model.batches import ON_CPU
from ops.model.numerics import TF32
from ops.model.tokenizer import Tokenizer, Tokens
from ops.respond.corpus import Corpus
from ops.respond.findings import add_peaks, common_facts, text_facts, unit_rows, with_explanations
from ops.respond.measure import Common, Measured, measure, response_rows, text_tails
from ops.respond.said import lay_out_common, lay_out_text, legend
from ops.respond.texts import OwnText, TextReader, score_texts, sentences_of_corpus
from ops.schema import SCHEMA_VERSION
from ops.schema.responses import RESPONSES
from ops.storage.open_tables import OpenTables
from ops.storage.store import Store
from ops.topk.unit_names import unit_names

MANY = 1_000  # from this many texts on, the engine scores them
BLOCK = 128  # texts that are measured together, and that a worker scores at a time
PRINTED = 20  # texts whose neurons are printed; --json and --to have those of all
READ, EXPLAINED = ("topk", "neurons", "activations", "corpus"), ("explanations", "families")
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class RespondArgs(ScorerArgs):
    """The arguments of workers that score texts; `equal_lengths` is an argument of `length_batches`."""

    placement: Placement
    equal_lengths: bool

    def score(self, scorer: Scorer, texts: Sequence[Tokens], first: int = 0) -> Float32s:
        """Return the activations of texts, given their tokens and the index of the first, `[texts, units]`."""
        return score_texts(scorer, texts, self.placement.token_budget, self.equal_lengths, first)


class TextScorer:
    """Scores blocks of texts, whose tokens it is given."""

    def __init__(self, args: RespondArgs, texts: Sequence[Tokens]) -> None:
        self.args, self.texts = args, texts
        self.scorer = args.scorer(Tokenizer(args.facts).pad_id)

    def __call__(self, item: Item, prepared: None) -> Item:
        """Return the activations of one block."""
        texts = self.texts[item["first"] : item["stop"]]
        values = base64.b85encode(self.args.score(self.scorer, texts, item["first"]).tobytes()).decode()
        return item | {"sentences": len(texts), "values": values}


class Responder:
    """A finished run with its model, which says how unusual texts are.

    Raises:
        InputError: tables are missing, or the model is gone or has changed.
    """

    def __init__(self, run: RunReader, device: str = "auto", model: str = "") -> None:
        topk, ingest = run.require("topk"), run.require("ingest")
        explains = run.complete("explain")
        run.check_files("ingest", "topk", *(["explain"] if explains else []), only=(*READ, *EXPLAINED))
        facts = model_of_topk(run, model)
        tokenizer = Tokenizer(facts)
        if tokenizer.fingerprint != ingest["identity"]["tokenizer"]:
            raise InputError(f"--out {run.store.uri}: the tokenizer of its model has changed since; restore it")
        tables, identity = OpenTables(run.store), topk["identity"]
        self.corpus = Corpus.read(tables, EXPLAINED if explains else (), topk)
        self.names = unit_names(topk)
        self.sentences, self.fingerprint = int(ingest["counts"]["sentences"]), topk["fingerprint"]
        placement = _placement(device, identity)
        dtype = "float32" if identity["dtype"] == TF32 and placement.device == "cpu" else None
        self.args = RespondArgs(
            store=run.store, neurons=self.corpus.neurons, seed=self.corpus.seed, facts=facts, placement=placement,
            options=run_scoring(identity, placement, dtype), dictionaries=dictionaries_of(run, facts),
            block=block_of(topk),
            equal_lengths=topk["counts"].get("equal_lengths", True),
        )  # fmt: skip
        self.reader = TextReader(tokenizer, ingest["config"]["split"])
        self.scorer = self.args.scorer(tokenizer.pad_id)

    def read(self, texts: Sequence[str], split: bool = False) -> list[OwnText]:
        """Return texts, or with `split` their sentences, with the sentences of the corpus that they are.

        Raises:
            InputError: a text is empty, or has only tokens that the model does not know.
        """
        own_texts = self.reader.read(texts, split)
        known = sentences_of_corpus(self.corpus.tables, [text.text for text in own_texts], self.sentences)
        return [replace(text, sentence=known.get(text.text)) for text in own_texts]

    def score(self, texts: Sequence[OwnText], first: int = 0) -> Float32s:
        """Return the activations of texts, of which the first has the index `first`, `[texts, units]`."""
        return self.args.score(self.scorer, [text.placed.tokens for text in texts], first)

    def measure(self, texts: Sequence[OwnText], values: Float32s, common: Common | None = None) -> Measured:
        """Return how unusual texts are, given their activations."""
        tokens, sentences = [text.tokens for text in texts], [text.sent_id for text in texts]
        return measure(self.corpus, values, tokens, sentences, common)

    def units(self, layer: int | None) -> Int64s:
        """Return the indices of the units of a layer, or of all."""
        neurons = self.corpus.neurons
        if layer is not None and layer not in neurons.layers:
            raise InputError(f"--layer {layer}: there is no such layer; {neurons.known()}")
        return np.arange(*((0, len(neurons)) if layer is None else neurons.span(layer)))

    def facts(self, texts: Sequence[OwnText], measured: Measured, units: Int64s, most: int | None) -> list[Row]:
        """Return what is known of each text (`text_facts`), with its `most` most unusual units, or all if None."""
        chosen = [unit_rows(self.corpus, measured, at, units, most) for at in range(len(texts))]
        rows = self._with_peaks(texts, chosen)
        return [
            text_facts(text, measured, at, with_explanations(self.corpus, text_rows))
            for at, (text, text_rows) in enumerate(zip(texts, rows, strict=True))
        ]

    def answer(self, text: str) -> Row:
        """Return what is known of one text."""
        texts = self.read([text])
        (facts,) = self.facts(texts, self.measure(texts, self.score(texts)), self.units(None), TOP)
        return facts

    def place(self, text: str, layer: int, unit: int, poles: Sequence[str]) -> Row:
        """Return where the activation of a unit for a text is among those of the corpus.

        Returns:
            `text`, `notes`, `starts` and `ends` of the tokens, and for each of the `poles` the `activation`, the `rank`
            that it would have among the winners (None if it would not be one), the share of the corpus that it is
            `beyond`, and `peak`, `span` and `tokens` of `add_peaks`.
        """
        (own_text,) = texts = self.read([text])
        values, at = self.score(texts), self.corpus.neurons.span(layer)[0] + unit
        tail, rank = (array[0, at] for array in text_tails(self.corpus, values, [own_text.sent_id]))
        count = self.corpus.distributions.at_least(values[:, at : at + 1], slice(at, at + 1))
        below = 1 - float(count[0, 0]) / self.corpus.distributions.sentences
        rows = [
            {
                "layer": layer, "unit": unit, "pole": pole, "activation": float(values[0, at]),
                "rank": int(rank) or None if (tail > 0) == (pole == "top") else None,
                "beyond": below if pole == "top" else 1 - below,
            }
            for pole in poles
        ]  # fmt: skip
        (rows,) = self._with_peaks(texts, [rows])
        starts, ends = own_text.ends_of_tokens
        return {
            "text": own_text.text, "notes": list(own_text.notes), "starts": starts, "ends": ends,
            "poles": {row["pole"]: row for row in rows},
        }  # fmt: skip

    def _with_peaks(self, texts: Sequence[OwnText], rows: Sequence[list[Row]]) -> list[list[Row]]:
        return add_peaks(self.scorer, texts, rows, self.args.placement.token_budget, self.args.equal_lengths)


def respond(config: RespondConfig) -> None:
    """Score texts, and print or write how unusual they are."""
    given = _given(config)
    run = RunReader(config.out, create=False)
    check_target(config.to, run.store)
    responder = Responder(run, config.device, config.model)
    units = responder.units(config.layer)
    texts, corpus = responder.read(given, config.split), responder.corpus
    common = Common(len(corpus.neurons), corpus.seed) if len(texts) > 1 else None
    facts: list[Row] = []

    def responses() -> Iterator[pa.Table]:
        for first, values in blocks(responder, texts):
            some = texts[first : first + len(values)]
            measured = responder.measure(some, values, common)
            wanted = len(some) if config.json_ else max(PRINTED - first, 0)
            facts.extend(responder.facts(some[:wanted], measured, units, None if config.all else config.top))
            yield response_rows(corpus, measured, [text.text for text in some], first + 1)

    write_responses(config.to, responses(), run.require("topk")["fingerprint"])
    shared = None if common is None else common_facts(common, corpus, config.top)
    if config.json_:
        summary = {"sentences": corpus.distributions.sentences, "winners": corpus.winners, "common": shared}
        print(json.dumps(summary | {"texts": facts}, ensure_ascii=(sys.stdout.encoding or "").lower() != "utf-8"))
        return
    width, names = max(shutil.get_terminal_size((110, 24)).columns, 60), responder.names
    parts = [] if shared is None else [lay_out_common(shared, names, width)]
    parts += [lay_out_text(row, corpus.winners, names, width, config.layer) for row in facts]
    parts.append([wrap(legend(facts[0], names), width)])
    if len(texts) > len(facts):
        parts.append([f"{len(texts) - len(facts):,} more texts: --json prints them, --to FILE.parquet writes them"])
    if "explanations" not in corpus.names:
        parts.append([f"note: this run has no explanations; run atlas explain --out {config.out}"])
    print("\n\n".join("\n".join(lines) for lines in parts))


def blocks(responder: Responder, texts: Sequence[OwnText]) -> Iterator[tuple[int, Float32s]]:
    """Yield the index of the first text of each block, and the block's activations; the engine scores many texts."""
    due = list(range(0, len(texts), BLOCK))
    if len(texts) < MANY:
        yield from ((first, responder.score(texts[first : first + BLOCK], first)) for first in due)
        return
    args = {"args": responder.args, "texts": [text.placed.tokens for text in texts]}
    items = [{"first": first, "stop": min(first + BLOCK, len(texts))} for first in due]
    how = Spread(holds=responder.args.placement.holds, actors=True)
    done: dict[int, bytes] = {}
    with Progress("respond", len(items), "blocks", work=("sentences", len(texts))) as progress:
        for row in fan_out(items, TextScorer, args, how, name="respond"):
            progress.add(row["sentences"])
            done[row["first"]] = base64.b85decode(row["values"])
            while due and due[0] in done:  # blocks are done in no particular order
                values = np.frombuffer(done.pop(due[0]), np.float32)
                yield due.pop(0), values.reshape(-1, len(responder.corpus.neurons))


def _given(config: RespondConfig) -> list[str]:
    """Return the texts that the options name; empty lines of a file are left out."""
    lines: list[str] = []
    if config.file:
        try:
            content = (
                sys.stdin.buffer.read() if config.file == "-" else Path(os.path.expanduser(config.file)).read_bytes()
            )
            lines = [line.removesuffix("\r") for line in content.decode("utf-8-sig").split("\n")]
        except UnicodeDecodeError as error:
            raise InputError(f"--file {config.file}: is not text in UTF-8 (byte {error.start:,})") from error
        except OSError as error:
            raise InputError(
                f"--file {config.file}: {os.strerror(error.errno or 0)}; name a text file, or -"
            ) from error
        if "\0" in "".join(lines):
            raise InputError(f"--file {config.file}: is not text (it has a zero byte)")
    texts = [*config.text, *(line for line in lines if line.strip())]
    if not texts:
        raise InputError("there is no text; give --text, or --file with one text a line")
    return texts


def _placement(device: str, identity: dict[str, Any]) -> Placement:
    """Return where the model runs: on request, else on the kind of device on which `topk` ran, if there is one."""
    if device == "cuda" and not has_gpus():
        raise InputError("--device cuda: there is no GPU here; use --device auto or cpu")
    if device == "auto":
        device = "cuda" if identity["device"] == "cuda" and has_gpus() else "cpu"
    budget = identity["token_budget"] if device == identity["device"] else ON_CPU
    threads = identity["threads"] or 1
    return Placement(device, budget, threads, None, {"gpus": 1} if device == "cuda" else {"cpus": threads})


def check_target(to: str, run: Store) -> None:
    """Refuse a file that does not end with .parquet, is in the run or a folder, or whose folder does not exist."""
    if not to:
        return
    folder, name = os.path.split(to)
    store = Store(folder or ".")
    if not name.endswith(".parquet"):
        raise InputError(f"--to {to}: is a Parquet file; give a name that ends with .parquet")
    if f"{store.root}/".startswith(f"{run.root.rstrip('/')}/") and store.filesystem == run.filesystem:
        raise InputError(f"--to {to}: is inside the run, into which nothing is written; name another folder")
    if store.local and os.path.isdir(f"{store.root}/{name}"):
        raise InputError(f"--to {to}: is a folder; give the name of a file")
    if store.local and not (os.path.isdir(store.root) and os.access(store.root, os.W_OK)):
        raise InputError(f"--to {to}: its folder does not exist or cannot be written")


def write_responses(to: str, tables: Iterable[pa.Table], fingerprint: str) -> None:
    """Write tables one after another to a file, which is put in place at the end; without a file they are only made."""

    def write(path: str) -> None:
        metadata = {"atlas.schema_version": SCHEMA_VERSION, "atlas.fingerprint": fingerprint}
        layout = RESPONSES.arrow.with_metadata(metadata)
        with pq.ParquetWriter(path, layout, compression="zstd") as writer:
            for table in tables:
                writer.write_table(table.cast(layout), row_group_size=RESPONSES.rows_per_group)

    if to:
        folder, name = os.path.split(to)
        Store(folder or ".").commit(name, write)
    for _ in tables:
        pass
