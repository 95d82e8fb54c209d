"""What every command promises, checked of one that was run."""

import json
import math
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from jobs.stage.stages import STAGES
from ops.schema import TABLES, activations_schema, layer_widths, meta_keys, schema
from tests.fuzz.perform import Outcome

Counts = dict[str, Any]

_TRACE = re.compile(r"Traceback|Exception ignored|\b\w*Warning: |^\S*Error: ", re.MULTILINE)
# What a job says on its way begins with the name of a stage or of a part of it.
_SAID = re.compile(rf"({'|'.join(sorted({name.partition('/')[0] for name in STAGES}))}|export)\b[^:]*: ")
# What a job says where storage refuses it: the one status 1 of a single machine.
STORAGE = "give the same command again to resume"


def check_outcome(outcome: Outcome) -> list[str]:
    """Return what is wrong with an exit status and with what was printed, empty where nothing is."""
    wrong = []
    told = [line for line in outcome.stderr.split("\n") if line.strip()]
    errors = [line for line in told if line.startswith("error: ")]
    if outcome.trace:
        wrong.append(f"a traceback: {outcome.trace.strip().splitlines()[-1]}")
    for name, text in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
        if found := _TRACE.search(text):
            line = text[found.start() :].splitlines()[0]
            wrong.append(f"{name} holds what no user is to see: {line}")
    if outcome.status not in (0, 1, 2):
        wrong.append(f"its status is {outcome.status}")
    if outcome.status == 1 and not outcome.trace and not any(STORAGE in line for line in errors):
        wrong.append("its status is 1, and storage refused nothing")
    if outcome.status in (1, 2) and not outcome.trace:
        if len(errors) != 1:
            wrong.append(f"its status is {outcome.status} with {len(errors)} lines that begin with error:")
        elif told[-1] != errors[0]:
            wrong.append("something was said after its error")
        elif odd := [line for line in told[:-1] if not _SAID.match(line)]:
            wrong.append(f"its status is {outcome.status} with a line more: {odd[0]}")
    if outcome.status == 0 and errors:
        wrong.append("its status is 0 with an error")
    if unseen := re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]", outcome.stderr):
        wrong.append(f"stderr holds {unseen[0]!r}")
    return wrong


def check_run(folder: Path, since_ns: int = 0) -> list[str]:
    """Return what is wrong with a run's record and with its finished tables, those of files younger than a time."""
    try:
        record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return [f"run.json cannot be read: {error}"]
    wrong = []
    found: dict[str, list[pa.Table]] = {}
    for stage, entry in record["stages"].items():
        if not entry["complete"]:
            continue
        young = False
        for table in STAGES[stage].tables:
            for file in record["tables"].get(table, []):
                path = folder / file["name"]
                if not path.exists():
                    wrong.append(f"{file['name']} is missing")
                    continue
                if path.stat().st_mtime_ns < since_ns:
                    continue
                young = True
                if path.stat().st_size != file["bytes"]:
                    wrong.append(f"{file['name']} has {path.stat().st_size} bytes, run.json says {file['bytes']}")
                if file["rows"] is None:
                    continue
                held = pq.ParquetFile(path).read()
                if held.num_rows != file["rows"]:
                    wrong.append(f"{file['name']} has {held.num_rows} rows, run.json says {file['rows']}")
                found.setdefault(table, []).append(held)
        if young:
            wrong += [f"{stage}: {line}" for line in check_counts(stage, entry, record, folder, found)]
    for table, parts in found.items():
        wrong += [f"{table}/: {line}" for part in parts for line in check_table(table, part)]
    return wrong


def check_table(name: str, table: pa.Table) -> list[str]:
    """Return what is wrong with a table: other columns, nulls or values that are not finite, rows out of order."""
    if name == "activations":
        expected = activations_schema(layer_widths(table.schema))
    elif name in TABLES:
        expected = schema(name, meta_keys(table.schema))
    else:
        return []
    wrong = []
    if not table.schema.equals(expected):
        wrong.append(f"its columns are {table.schema.names}, expected {expected.names}, or are of other types")
        return wrong
    for field in expected:
        column = table[field.name]
        if column.null_count and not field.nullable:
            wrong.append(f"{field.name} is null")
        flat = column.combine_chunks()
        while pa.types.is_list(flat.type) or pa.types.is_fixed_size_list(flat.type):
            flat = flat.flatten()
        if pa.types.is_floating(flat.type) and not bool(pc.all(pc.is_finite(flat)).as_py() in (True, None)):
            wrong.append(f"{field.name} is not finite")
    order = TABLES[name].order if name in TABLES else ("sent_id",)
    if order and table.num_rows < 20_000:
        rows = list(zip(*(table[column].to_pylist() for column in order), strict=True))
        if not any(None in row for row in rows) and any(a > b for a, b in pairwise(rows)):
            wrong.append(f"its rows are not in the order of {', '.join(order)}")
    return wrong


def check_counts(
    stage: str, entry: Counts, record: Counts, folder: Path, found: dict[str, list[pa.Table]]
) -> list[str]:
    """Return which counts of a finished stage differ from its tables, or from each other."""
    counts = entry["counts"]
    wrong = []

    def rows(table: str) -> int:
        return sum(file["rows"] or 0 for file in record["tables"].get(table, []))

    def same(what: str, one: int, other: int) -> None:
        if one != other:
            wrong.append(f"{what}: {one} and {other}")

    for table in STAGES[stage].tables:
        own = counts.get(table)  # those of side jobs count other things by the names of their tables
        if isinstance(own, int) and table in record["tables"]:
            same(f"counted and written rows of {table}/", own, rows(table))
    if stage == "ingest":
        wrong += check_ingest(counts, rows("corpus"), rows("rejects"))
        parts = found.get("corpus", [])
        if sum(part.num_rows for part in parts) == rows("corpus") and parts:
            ids = [value for part in parts for value in part["sent_id"].to_pylist()]
            same("sent_id is dense", int(ids == list(range(len(ids)))), 1)
            if not any(source["not_sampled"] for source in counts["sources"]):
                copies = sum(sum(part["n_copies"].to_pylist()) for part in parts)
                same(
                    "n_copies, and kept and further copies",
                    copies,
                    sum(s["kept"] + s["copies"] for s in counts["sources"]),
                )
    if stage == "topk":
        corpus = record["stages"]["ingest"]["counts"]["sentences"]
        same("sentences of the corpus, and scored and unscored ones", corpus, counts["scored"] + counts["unscored"])
        same("rows of unscored/", counts["unscored"], rows("unscored"))
        same("rows of activations/", counts["activation_sample"], rows("activations"))
        same("rows of neurons/", counts["neurons"], rows("neurons"))
        k = entry["identity"]["k"]
        winners = Counter(
            key
            for part in found.get("topk", [])
            for key in zip(*(part[name].to_pylist() for name in ("layer", "unit", "pole")), strict=True)
        )
        if winners:
            same("winners of a neuron and pole", *(f(winners.values()) for f in (min, max)))
            same("winners of a neuron", max(winners.values()), min(k, counts["scored"]))
        within = Counter(
            key
            for part in found.get("topk_by_dataset", [])
            for key in zip(*(part[name].to_pylist() for name in ("layer", "unit", "pole", "dataset")), strict=True)
        )
        most = entry["identity"].get("k_per_dataset", 0)
        same("winners within a data set beyond --k-per-dataset", max(0, *(n - most for n in within.values()), 0), 0)
        same("topk_by_dataset/ and --k-per-dataset", int("topk_by_dataset" in record["tables"]), int(most > 0))
        for part in found.get("neurons", []):
            same("n of neurons/", int(np.abs(np.array(part["n"].to_pylist()) - counts["scored"]).max(initial=0)), 0)
    if stage == "annotate":
        parts = found.get("sentences", [])
        if sum(part.num_rows for part in parts) == rows("sentences"):
            same("wins of sentences/, and winners", sum(sum(part["wins"].to_pylist()) for part in parts), rows("topk"))
        for column, name in (("is_baseline", "baseline"), ("is_winner", "winners")):
            if sum(part.num_rows for part in parts) == rows("sentences"):
                same(f"{column} of sentences/", sum(sum(part[column].to_pylist()) for part in parts), counts[name])
    if stage == "tokens":
        same("winners of token_activations/", rows("token_activations"), counts["winners"])
    if stage == "tokens/negatives":
        same("hard negatives of negative_tokens/", rows("negative_tokens"), counts["negatives"])
    for name, value in _numbers(counts):
        if isinstance(value, float) and not math.isfinite(value):
            wrong.append(f"{name} of its counts is {value}")
    return wrong


def check_ingest(counts: Counts, kept: int, rejected: int) -> list[str]:
    """Return what does not add up of what `ingest` counted: sentences read, kept, copies, rejected, not sampled.

    Args:
        counts: those of run.json.
        kept, rejected: rows of corpus/ and of rejects/.
    """
    wrong = []
    for source in counts["sources"]:
        gone = source["copies"] + source["rejected"] + source["not_sampled"]
        if source["sentences"] != source["kept"] + gone:
            wrong.append(f"{source['dataset']}: {source['sentences']} sentences, {source['kept']} kept and {gone} not")
    if not kept == counts["sentences"] == sum(source["kept"] for source in counts["sources"]):
        wrong.append(f"{kept} rows of corpus/, {counts['sentences']} sentences counted")
    if rejected != sum(source["rejected"] for source in counts["sources"]):
        wrong.append(f"{rejected} rows of rejects/, other counts")
    return wrong


def _numbers(held: Any, name: str = "") -> list[tuple[str, Any]]:
    if isinstance(held, dict):
        return [found for key, value in held.items() for found in _numbers(value, f"{name}.{key}".lstrip("."))]
    if isinstance(held, list):
        return [found for value in held for found in _numbers(value, name)]
    return [(name, held)]
