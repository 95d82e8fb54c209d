"""The part `hashing` of `meaning`, which makes codes of every size from sentence states and measures them."""

import sys
from functools import partial

import numpy as np
import pyarrow as pa
import torch

from jobs.engine.item import Item
from jobs.meaning.job import MeaningConfig
from jobs.run_folder.run import Run
from jobs.stage.corpus_pass import CorpusPass, PassArgs, begin_pass
from jobs.stage.costs import PASSES
from jobs.stage.outputs import Output, partial_file, read_partials
from jobs.stage.step import Made, Step, Steps
from ops import schema
from ops.corpus.read_shard import read_rows
from ops.errors import InputError
from ops.figures.files import save_figures
from ops.meaning.figures import codes_figure, precision_figure
from ops.meaning.hashing import IN_THE_PLANE, Drawn, HashedStates, label_drawn, methods_and_sizes
from ops.meaning.readers import SentenceReader
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.sampling import HASHED, draw
from ops.schema import meta_keys
from ops.storage.arrays import read_arrays, write_arrays
from ops.storage.side_by_side import LARGE_FILES_AT_ONCE
from ops.storage.store import Store
from ops.storage.tables import part_name

HASHING, PLANE = "meaning/hashing", "meaning/plane"


def check_layer(layer: int | None, facts: ModelFacts) -> int:
    """Return the layer that is read; the last layer if none is named."""
    if layer is not None and layer > facts.layers:
        raise InputError(f"--hash-layer {layer}: {facts.name} has {facts.layers} layers; name one of them")
    return layer or facts.layers


def draw_labelled(config: MeaningConfig, run: Run) -> Drawn:
    """Return a seeded uniform sample of sentences with their classes; empty in a dry run without a corpus.

    Raises:
        InputError: the requested label has fewer than two classes, or the corpus is damaged.
    """
    if run.is_expected("ingest"):
        none = np.zeros(0, np.int64)
        return Drawn(none, none, none.astype(bool), [])
    run.check_files("ingest", footers=True)
    shards = run.shards()
    drawn = draw(shards.sentences, config.hashed_sentences, config.seed, HASHED)
    with run.store.parquet(part_name("corpus", 0)) as file:
        meta = ["meta"] if meta_keys(file.schema_arrow) else []
    tables = read_rows(run.store, shards, drawn, ["sent_id", "dataset", "doc_id", *meta])
    return label_drawn(drawn, tables, config.label, config.seed)


def compress(config: MeaningConfig, run: Run, facts: ModelFacts, tokenizer: Tokenizer, drawn: Drawn) -> None:
    """Run the part: write meaning/hashing, meaning/plane and their figures."""
    layer = check_layer(config.hash_layer, facts)
    if len(drawn.sent_ids) and not drawn.labels:
        why = "no topic, category or dataset with two classes; give another column with --label"
        print(f"meaning: skipped: hashing ({why})", file=sys.stderr)
        return
    names = {"hashed_sentences", "hash_neighbours", "epochs", "label"}
    depends_on = config.model_dump(include=names) | {"hash_layer": layer}
    job = begin_pass(HASHING, config, run, facts, tokenizer, depends_on)
    if job is not None:
        sentences = min(config.hashed_sentences, job.sentences)
        rows = {PLANE: sum(size == IN_THE_PLANE for _, size in methods_and_sizes(facts.width)) * sentences // 2}
        job.stage.complete(hashing_steps(config, layer, drawn, job), rows, {"scored": sentences})


def hashing_steps(config: MeaningConfig, layer: int, drawn: Drawn, job: CorpusPass) -> Steps:
    """Yield the steps, write meaning/hashing, meaning/plane and the figures; return the counts.

    Raises:
        InputError: no two classes are on both sides of the split of the documents.
    """
    args, store, width = job.args, job.args.store, job.args.facts.width
    ids = draw(job.sentences, config.hashed_sentences, config.seed, HASHED)
    shares = job.shards.split(ids)
    states = job.shard_step(
        SentenceStateReader, {"args": args, "layer": layer}, work=("sentences", len(ids)),
        more=lambda item: {"rows": shares[item["shard"]].tolist(), "sentences": len(shares[item["shard"]])},
        estimate=partial(job.seconds, passes=PASSES[HASHING] * len(ids) / job.sentences),
    )  # fmt: skip
    items = [{"method": method, "size": size} for method, size in methods_and_sizes(width)]
    measuring = {"store": store, "drawn": drawn, "seed": config.seed, "states": job.partials}
    codes = Step(
        name="meaning: codes", items=items, outputs=codes_files, worker=CodeMeasurer, unit="codes",
        args={**measuring, "epochs": config.epochs, "neighbours": config.hash_neighbours},
        amount=len(items) * len(ids) * width * config.epochs,
    )  # fmt: skip
    yield [states, codes]
    files = [codes_files(item) for item in items]
    outputs = {
        HASHING: [measured for *_, measured in files],
        PLANE: [plane for *planes, _ in files for plane in planes],  # none for a model with at most two units
    }
    rows, places = (
        schema.table(name, schema.concatenate(name, read_partials(store, parts))) for name, parts in outputs.items()
    )
    if not rows.num_rows:
        raise InputError("--label: no two classes are in the documents on both sides; raise --hashed-sentences")
    for name, table in ((HASHING, rows), (PLANE, places)):
        job.stage.write(name, table)
    figures = {"code_precision": precision_figure(rows.to_pylist())}
    if places.num_rows:
        coloured = min(drawn.labels, key=lambda label: len(label.classes))
        classes = np.array(coloured.names, object)[np.searchsorted(drawn.sent_ids, places["sent_id"].to_numpy())]
        figures["code_plane"] = codes_figure(places, classes.tolist(), coloured.name)
    finite = int(np.isfinite(read_states(store, job.partials)).all(1).sum())
    return {
        "sentences": job.sentences, "scored": finite, "unscored": len(ids) - finite,
        "held_out": int(drawn.tested.sum()), "layer": layer,
        "classes": {label.name: len(label.classes) for label in drawn.labels},
        "figures": save_figures(store, "meaning/hashing_figures", figures, args.facts.title),
    }  # fmt: skip


class SentenceStateReader:
    """Runs the model on the drawn sentences of shards and returns their states in one layer."""

    def __init__(self, args: PassArgs, layer: int) -> None:
        self.layer, tokenizer = layer, Tokenizer(args.facts)
        self.tokens = args.tokens(lambda: tokenizer)
        self.reader = SentenceReader(args.facts, tokenizer, **args.arithmetic)

    def __call__(self, item: Item) -> pa.Table:
        """Run the model on the drawn sentences of one shard."""
        _, tokens = self.tokens.read(item["shard"], np.array(item["rows"], np.int64))
        return write_arrays(states=self.reader.read(tokens, [self.layer])[:, 0])


def read_states(store: Store, files: list[Output]) -> np.ndarray:
    """Return the states of all drawn sentences in the order of the sentences, `[sentences, width]` float32."""
    tables = read_partials(store, files, at_once=LARGE_FILES_AT_ONCE)
    return np.concatenate([read_arrays(table)["states"] for table in tables])


def codes_files(item: Item) -> list[Output]:
    """Return the files of a method and size; methods with two dimensions also have a file of places in the plane."""
    kinds = ["plane", "codes"] if item["size"] == IN_THE_PLANE else ["codes"]
    return [partial_file(HASHING, f"{kind}-{item['method']}-{item['size']}") for kind in kinds]


class CodeMeasurer:
    """Makes and measures the codes of methods and sizes; `states` are the files of the states of all shards."""

    def __init__(
        self, store: Store, drawn: Drawn, seed: int, states: list[Output], epochs: int, neighbours: int
    ) -> None:
        torch.set_num_threads(1)
        self.epochs, self.neighbours = epochs, neighbours
        self.hashed = HashedStates(drawn, read_states(store, states), seed)

    def __call__(self, item: Item) -> Made:
        """Make the codes of one method and size, and measure them."""
        method, size = item["method"], item["size"]
        codes = self.hashed.codes(method, size, self.epochs)
        *plane, measured = codes_files(item)
        made: Made = {output: self.hashed.plane(codes, method) for output in plane}
        return {**made, measured: self.hashed.rows(codes, method, size, self.neighbours)}
