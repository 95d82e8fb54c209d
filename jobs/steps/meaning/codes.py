"""The second step of the hashing of `meaning`: codes of every size are made and measured, and the tables written."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from jobs.engine.item import Item
from jobs.stage.corpus_pass import CorpusPass
from jobs.stage.layout import Output
from jobs.stage.runner import Step
from jobs.stage.stages import STAGES
from jobs.steps.meaning.hashing import HASHING, Drawn, HashArgs, read_drawn, read_states
from ops.errors import InputError
from ops.meaning.autoencoder import autoencoder_codes
from ops.meaning.hashing import (
    AUTOENCODER,
    PCA,
    REAL,
    SHUFFLED,
    SIZES,
    STATES,
    Codes,
    at_length_1,
    measure_codes,
    principal_codes,
    shuffled,
)  # fmt: skip
from ops.meaning.hashing_figures import draw_hashing
from ops.sampling import HASHED
from ops.schema import schema
from ops.storage.tables import write_part

PLANE = "meaning/plane"
_IN_THE_PLANE = 2


def codes_step(args: HashArgs) -> Step:
    """Return the step that makes and measures codes, an item a method and size; the whole states are one too."""
    sizes = [size for size in SIZES if size < args.facts.width]
    items: list[Item] = [{"method": method, "size": size} for size in sizes for method in (AUTOENCODER, PCA)]
    items.append({"method": STATES, "size": args.facts.width})
    return Step("meaning: codes", items, codes_files, CodeMeasurer, {"args": args}, "codes")


def codes_files(item: Item) -> list[Output]:
    """Return the files of a method and size: those of two dimensions have their places in the plane too."""
    name = f"{item['method']}-{item['size']}"
    measured = Output(f"{STAGES[HASHING].partials}/codes-{name}.parquet", f"codes-{name}")
    plane = Output(f"{STAGES[HASHING].partials}/plane-{name}.parquet", f"plane-{name}")
    return [plane, measured] if item["size"] == _IN_THE_PLANE else [measured]


class CodeMeasurer:
    """Makes and measures the codes of one method and size after another."""

    def __init__(self, args: HashArgs) -> None:
        torch.set_num_threads(1)
        self.args, self.store = args, args.store
        self.drawn = read_drawn(args)
        states = read_states(args)
        self.good = np.isfinite(states).all(1)
        self.states = at_length_1(states[self.good])
        self.tested, self.documents = self.drawn.tested[self.good], self.drawn.documents[self.good]
        self.labels = [label._replace(number=label.number[self.good]) for label in self.drawn.labels]

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Make the codes, measure them and commit what was found."""
        args, method, size = self.args, item["method"], item["size"]
        given, asked = self.states[~self.tested], self.states[self.tested]
        if not len(given) or not len(asked):
            raise InputError("--hashed-sentences: too few documents to fit on some and to ask about others; give more")
        if method == STATES:
            found = {REAL: Codes(given, asked, 0.0)}
        elif method == PCA:
            found = principal_codes(given, asked, size)
        else:
            found = autoencoder_codes(given, asked, size, args.epochs, args.seed)
        rows: list[dict[str, Any]] = []
        for code, codes in found.items():
            labels = [(method, self.labels)]
            if method == STATES:
                labels.append((SHUFFLED, shuffled(self.labels, self.tested, args.seed, HASHED)))
            for name, own in labels:
                known = {"method": name, "code": code, "size": size, "error": codes.error if name != SHUFFLED else None}
                measured = measure_codes(codes, self.tested, self.documents, own, args.neighbours)
                rows += [{**known, **row} for row in measured]
        outputs = codes_files(item)
        if size == _IN_THE_PLANE:
            ids, places = self.drawn.sent_ids[self.good][self.tested], found[REAL].asked
            columns = {"method": [method] * len(ids), "sent_id": ids, "x": places[:, 0], "y": places[:, 1]}
            self._commit(outputs[0], pa.table(columns, schema=schema(PLANE)))
        self._commit(outputs[-1], pa.Table.from_pylist(rows, schema(HASHING)))
        return {"method": method}

    def _commit(self, output: Output, table: pa.Table) -> None:
        described = table.replace_schema_metadata(output.footer(self.args.fingerprint, table.num_rows))
        self.store.commit(output.path, lambda path: pq.write_table(described, path, compression="zstd"))


def publish(job: CorpusPass, args: HashArgs, drawn: Drawn) -> None:
    """Write meaning/hashing, meaning/plane and the figures, and record the counts.

    Raises:
        InputError: no class is on both sides of the split by documents.
    """
    measured, plane = [], []
    for item in codes_step(args).items:
        outputs = codes_files(item)
        measured.append(_read(args, outputs[-1]))
        if len(outputs) > 1:
            plane.append(_read(args, outputs[0]))
    rows = pa.concat_tables(measured).sort_by([(c, "ascending") for c in ("label", "method", "code", "size")])
    places = pa.concat_tables(plane).sort_by([("method", "ascending"), ("sent_id", "ascending")])
    if not rows.num_rows:
        raise InputError("--label: no two classes are in the documents on both sides; raise --hashed-sentences")
    write_part(args.store, HASHING, 0, schema(HASHING), [rows], args.fingerprint)
    write_part(args.store, PLANE, 0, schema(PLANE), [places], args.fingerprint)
    coloured = min(drawn.labels, key=lambda label: len(label.classes))
    names = [coloured.classes[i] if i >= 0 else None for i in coloured.number]
    by_id = dict(zip(drawn.sent_ids.tolist(), names, strict=True))
    shown = places.to_pylist()
    classes = [by_id[row["sent_id"]] for row in shown]
    figures = draw_hashing(args.store, rows.to_pylist(), shown, classes, coloured.name, args.facts.title)
    kept = int(np.isfinite(read_states(args)).all(1).sum())
    job.stage.finish(
        {
            "sentences": job.shards.sentences, "scored": kept, "unscored": len(drawn.sent_ids) - kept,
            "held_out": int(drawn.tested.sum()), "layer": args.layer,
            "classes": {label.name: len(label.classes) for label in drawn.labels}, "figures": figures,
        }
    )  # fmt: skip


def _read(args: HashArgs, output: Output) -> pa.Table:
    with args.store.parquet(output.path) as file:
        return file.read().replace_schema_metadata(None)
