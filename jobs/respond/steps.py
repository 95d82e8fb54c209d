"""Reads texts, scores them in blocks, and prints or writes how unusual they are; also answers the pages of `browse`."""

import base64
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
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
from ops.arrays import Float32s, Int64s
from ops.corpus.token_windows import window_size
from ops.errors import InputError
from ops.facts.text import wrap
from ops.model.activations import ScoreOptions
from ops.model.batches import ON_CPU, Lengths, batch_lengths
from ops.model.numerics import TF32
from ops.model.tokenizer import Tokenizer, Tokens
from ops.respond.common import Common
from ops.respond.findings import Explained, add_peaks, common_facts, text_facts, unit_rows
from ops.respond.measure import Corpus, Measured, measure, text_tails
from ops.respond.said import lay_out_common, lay_out_text, legend
from ops.respond.score import score_texts
from ops.respond.table import response_rows
from ops.respond.texts import OwnText, TextReader, sentences_of_corpus
from ops.schema import SCHEMA_VERSION
from ops.schema.responses import RESPONSES
from ops.storage.open_tables import OpenTables
from ops.storage.store import Store
from ops.topk.unit_names import unit_names

MANY = 1_000  # from this many texts on, the engine scores them
BLOCK = 128  # texts that are measured together, and that a worker scores at a time
PRINTED = 20  # texts whose neurons are printed; --json and --to have those of all
READ = ("topk", "neurons", "activations", "corpus")
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class RespondArgs(ScorerArgs):
    """The arguments of workers that score texts; `texts` are the tokens of all texts."""

    token_budget: int
    lengths: Lengths
    texts: tuple[Tokens, ...] = ()


class TextScorer:
    """Scores blocks of texts."""

    def __init__(self, args: RespondArgs) -> None:
        self.args = args
        self.scorer = args.scorer(Tokenizer(args.facts).pad_id)

    def __call__(self, item: Item, prepared: None) -> Item:
        """Return the activations of one block."""
        texts = self.args.texts[item["first"] : item["stop"]]
        values = score_texts(self.scorer, texts, self.args.token_budget, self.args.lengths)
        return item | {"sentences": len(texts), "values": base64.b85encode(values.tobytes()).decode()}


class Responder:
    """A finished run with its model, which says how unusual texts are.

    Args:
        run: the run.
        device: `auto`, `cpu` or `cuda`.
        model: the new place of the model, if it has moved.

    Attributes:
        corpus, explained, names: what the run knows, and the names of its units.

    Raises:
        InputError: tables are missing, or the model is gone or has changed.
    """

    def __init__(self, run: RunReader, device: str = "auto", model: str = "") -> None:
        topk, ingest = run.require("topk"), run.require("ingest")
        explains = run.complete("explain")
        run.check_files("ingest", "topk", *(["explain"] if explains else []), only=(*READ, "explanations", "families"))
        facts = model_of_topk(run, model)
        self.tokenizer = Tokenizer(facts)
        if self.tokenizer.fingerprint != ingest["identity"]["tokenizer"]:
            raise InputError(f"--out {run.store.uri}: the tokenizer of its model has changed since; restore it")
        tables, identity = OpenTables(run.store), topk["identity"]
        self.corpus, self.names = Corpus.read(tables, topk), unit_names(topk)
        self.explained = Explained(tables, ["explanations", "families"] if explains else [])
        self.sentences, self.fingerprint = int(ingest["counts"]["sentences"]), topk["fingerprint"]
        place = _device(device, str(identity["device"]))
        dtype = "float32" if identity["dtype"] == TF32 and place == "cpu" else str(identity["dtype"])
        options = ScoreOptions(
            identity["site"], identity["pool"], identity["special_tokens"], place, dtype, identity["threads"] or 1
        )
        self.args = RespondArgs(
            store=run.store, neurons=self.corpus.neurons, seed=self.corpus.seed, facts=facts, options=options,
            dictionaries=dictionaries_of(topk, facts), block=block_of(topk),
            token_budget=identity["token_budget"] if place == identity["device"] else ON_CPU,
            lengths=batch_lengths(place, topk["counts"].get("equal_lengths", True)),
        )  # fmt: skip
        split = ingest["config"]["split"]
        self.reader = TextReader(self.tokenizer, split == "sentences", window_size(split) is not None)
        self.scorer = self.args.scorer(self.tokenizer.pad_id)

    def sentences_of(self, texts: Sequence[OwnText]) -> dict[str, tuple[int, str]]:
        """Return the id and data set of each text that is a sentence of the corpus."""
        return sentences_of_corpus(self.corpus.tables, [text.text for text in texts], self.sentences)

    def score(self, texts: Sequence[OwnText]) -> Float32s:
        """Return the activations of texts, `[texts, units]`."""
        tokens = [text.placed.tokens for text in texts]
        return score_texts(self.scorer, tokens, self.args.token_budget, self.args.lengths)

    def measure(
        self,
        texts: Sequence[OwnText],
        values: Float32s,
        known: dict[str, tuple[int, str]],
        common: Common | None = None,
    ) -> Measured:
        """Return how unusual these texts are, given their activations and those that are sentences of the corpus."""
        own = [known[text.text][0] if text.text in known else -1 for text in texts]
        return measure(self.corpus, values, [text.tokens for text in texts], own, common)

    def units(self, layer: int | None) -> Int64s:
        """Return the indices of the units of a layer, or of all.

        Raises:
            InputError: there is no such layer.
        """
        neurons = self.corpus.neurons
        if layer is not None and layer not in neurons.layers:
            raise InputError(f"--layer {layer}: there is no such layer; {neurons.known()}")
        return np.arange(*((0, len(neurons)) if layer is None else neurons.span(layer)))

    def facts(
        self, texts: Sequence[OwnText], measured: Measured, known: dict[str, tuple[int, str]], units: Int64s,
        most: int | None,
    ) -> list[Row]:  # fmt: skip
        """Return what is known of each text (`text_facts`), with its `most` most unusual units, or all if None."""
        families = self.explained.families(self.corpus.neurons)
        chosen = [unit_rows(self.corpus, measured, at, units, families, most) for at in range(len(texts))]
        rows = add_peaks(self.scorer, texts, chosen, self.args.token_budget, self.args.lengths)
        return [
            text_facts(text, known.get(text.text), measured, at, self.explained.add(own))
            for at, (text, own) in enumerate(zip(texts, rows, strict=True))
        ]

    def answer(self, text: str) -> Row:
        """Return what is known of one text.

        Raises:
            InputError: the text is empty, or has only tokens that the model does not know.
        """
        texts = self.reader.read([text])
        known = self.sentences_of(texts)
        measured = self.measure(texts, self.score(texts), known)
        (facts,) = self.facts(texts, measured, known, self.units(None), TOP)
        return facts

    def place(self, text: str, layer: int, unit: int, poles: Sequence[str]) -> Row:
        """Return where the activation of a unit for a text is among those of the corpus.

        Returns:
            `text`, `notes`, `starts` and `ends` of the tokens, and for each of the `poles` the `activation`, the `rank`
            that it would have among the winners (None if it would not be one), the share of the corpus that it is
            `beyond`, and `peak`, `span` and `tokens` of `add_peaks`.
        """
        (own,) = texts = self.reader.read([text])
        known, at = self.sentences_of(texts), self.corpus.neurons.span(layer)[0] + unit
        values = self.score(texts)
        tail, rank = text_tails(self.corpus, values, [known.get(own.text, (-1, ""))[0]])
        count = self.corpus.distributions.at_least(values[:, at : at + 1], slice(at, at + 1))
        below = 1 - float(count[0, 0]) / self.corpus.distributions.sentences
        rows = []
        for pole in poles:
            is_here = (tail[0, at] > 0) == (pole == "top")
            rows.append({
                "layer": layer, "unit": unit, "pole": pole, "activation": float(values[0, at]),
                "rank": int(rank[0, at]) or None if is_here else None, "beyond": below if pole == "top" else 1 - below,
            })  # fmt: skip
        (rows,) = add_peaks(self.scorer, texts, [rows], self.args.token_budget, self.args.lengths)
        starts, ends = own.ends_of_tokens
        return {
            "text": own.text, "notes": list(own.notes), "starts": starts, "ends": ends,
            "poles": {row["pole"]: row for row in rows},
        }  # fmt: skip


def respond(config: RespondConfig) -> None:
    """Score texts, and print or write how unusual they are.

    Raises:
        InputError: a text or a file cannot be read, tables are missing, or the model has changed.
    """
    given = _given(config)
    run = RunReader(config.out, create=False)
    check_target(config.to, run.store)
    responder = Responder(run, config.device, config.model)
    units = responder.units(config.layer)
    texts = responder.reader.read(given, config.split)
    known, corpus = responder.sentences_of(texts), responder.corpus
    common = Common(len(corpus.neurons), corpus.seed) if len(texts) > 1 else None
    facts: list[Row] = []
    with parquet_file(config.to, run.require("topk")["fingerprint"]) as write:
        for first, values in blocks(responder, texts):
            some = texts[first : first + len(values)]
            measured = responder.measure(some, values, known, common)
            write(response_rows(corpus, measured, [text.text for text in some], first + 1))
            wanted = len(some) if config.json_ else max(PRINTED - first, 0)
            facts += responder.facts(some[:wanted], measured, known, units, None if config.all else config.top)
    shared = None if common is None else common_facts(common, corpus, responder.explained, config.top)
    if config.json_:
        found = {
            "sentences": corpus.distributions.sentences,
            "winners": corpus.winners,
            "common": shared,
            "texts": facts,
        }
        print(json.dumps(found, ensure_ascii=(sys.stdout.encoding or "").lower() != "utf-8"))
        return
    width, names = max(shutil.get_terminal_size((110, 24)).columns, 60), responder.names
    parts = [] if shared is None else [lay_out_common(shared, names, width)]
    parts += [lay_out_text(own, corpus.winners, names, width, config.layer) for own in facts]
    parts.append([wrap(legend(facts[0], names), width)])
    if len(texts) > len(facts):
        parts.append([f"{len(texts) - len(facts):,} more texts: --json prints them, --to FILE.parquet writes them"])
    if "explanations" not in responder.explained.names:
        parts.append([f"note: this run has no explanations; run atlas explain --out {config.out}"])
    print("\n\n".join("\n".join(lines) for lines in parts))


def blocks(responder: Responder, texts: Sequence[OwnText]) -> Iterator[tuple[int, Float32s]]:
    """Yield the index of the first text of each block, and the block's activations; the engine scores many texts."""
    starts = range(0, len(texts), BLOCK)
    if len(texts) < MANY:
        yield from ((first, responder.score(texts[first : first + BLOCK])) for first in starts)
        return
    on_gpus = responder.args.options.device == "cuda"
    args = replace(responder.args, texts=tuple(text.placed.tokens for text in texts))
    items = [{"first": first, "stop": min(first + BLOCK, len(texts))} for first in starts]
    how = Spread(holds={"gpus": 1} if on_gpus else {"cpus": responder.args.options.threads}, actors=True)
    done: dict[int, bytes] = {}
    due = list(starts)
    with Progress("respond", len(items), "blocks", work=("sentences", len(texts))) as progress:
        for row in fan_out(items, TextScorer, {"args": args}, how, name="respond"):
            progress.add(row["sentences"])
            done[row["first"]] = base64.b85decode(row["values"])
            while due and due[0] in done:  # blocks are done in no particular order
                values = np.frombuffer(done.pop(due[0]), np.float32)
                yield due.pop(0), values.reshape(-1, len(responder.corpus.neurons))


def _given(config: RespondConfig) -> list[str]:
    """Return the texts that the options name; empty lines of a file are left out.

    Raises:
        InputError: there is none, or a file cannot be read.
    """
    lines: list[str] = []
    if config.file:
        try:
            content = sys.stdin.buffer.read() if config.file == "-" else Path(config.file).expanduser().read_bytes()
            lines = content.decode("utf-8-sig").splitlines()
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


def _device(asked: str, of_run: str) -> str:
    """Return where the model runs: on request, else on the kind of device on which the run was scored, if there is one.

    Raises:
        InputError: a GPU was requested, and there is none.
    """
    if asked == "cuda" and not has_gpus():
        raise InputError("--device cuda: there is no GPU here; use --device auto or cpu")
    return asked if asked != "auto" else "cuda" if of_run == "cuda" and has_gpus() else "cpu"


def check_target(to: str, run: Store) -> None:
    """Refuse a file that is not to be written.

    Raises:
        InputError: its name does not end with .parquet, it is in the run, or its folder does not exist.
    """
    if not to:
        return
    folder, name = os.path.split(to)
    store = Store(folder or ".")
    if not name.endswith(".parquet"):
        raise InputError(f"--to {to}: is a Parquet file; give a name that ends with .parquet")
    if f"{store.root}/".startswith(f"{run.root.rstrip('/')}/") and store.filesystem == run.filesystem:
        raise InputError(f"--to {to}: is inside the run, into which nothing is written; name another folder")
    if store.local and not (os.path.isdir(store.root) and os.access(store.root, os.W_OK)):
        raise InputError(f"--to {to}: its folder does not exist or cannot be written")


@contextmanager
def parquet_file(to: str, fingerprint: str) -> Iterator[Callable[[pa.Table], None]]:
    """Yield a function that adds rows to the file, which is put in place at the end; it does nothing without a file."""
    if not to:
        yield lambda rows: None
        return
    layout = RESPONSES.arrow.with_metadata({"atlas.schema_version": SCHEMA_VERSION, "atlas.fingerprint": fingerprint})
    folder, name = os.path.split(to)
    with tempfile.TemporaryDirectory() as scratch:
        path = f"{scratch}/{name}"
        with pq.ParquetWriter(path, layout, compression="zstd") as writer:
            yield lambda rows: writer.write_table(rows.cast(layout), row_group_size=RESPONSES.rows_per_group)
        Store(folder or ".").commit(name, partial(_move, path))


def _move(path: str, place: str) -> None:
    shutil.move(path, place)
