"""What every command promises, checked after it was run."""

import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from jobs.run_folder.stages import STAGES
from ops.schema import TABLES, activations_schema, layer_widths, meta_keys, schema
from tests.fuzz.perform import Outcome

Counts = dict[str, Any]

_TRACE = re.compile(r"Traceback|Exception ignored|\b\w*Warning: |^\S*Error: ", re.MULTILINE)
# The line of a job's progress begins with the name of a stage or of a part of one.
_PROGRESS = re.compile(rf"({'|'.join(sorted({name.partition('/')[0] for name in STAGES}))}|export)\b[^:]*: ")
_STORAGE = "give the same command again to resume"  # with the one status 1 of a single machine
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def check_outcome(outcome: Outcome) -> list[str]:
    """Return what is wrong with an exit status and with what was printed, empty if nothing is."""
    wrong = []
    status, lines = outcome.status, [line for line in outcome.stderr.split("\n") if line.strip()]
    errors = [line for line in lines if line.startswith("error: ")]
    if "Timeout (" in outcome.stderr:
        stack = re.findall(r'([^/"]+)", line (\d+) in (\S+)', outcome.stderr.rpartition("call first)")[2])
        wrong.append(f"it does not end: {' < '.join(f'{file}:{line} {name}' for file, line, name in stack[:12])}")
    for name, text in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
        if shown := _TRACE.search(text):
            last = text.strip().splitlines()[-1] if shown[0] == "Traceback" else text[shown.start() :].splitlines()[0]
            wrong.append(f"{name} holds what no user should see: {last}")
    if status not in (0, 1, 2):
        wrong.append(f"its status is {status}")
    elif status and not wrong:
        if status == 1 and not any(_STORAGE in line for line in errors):
            wrong.append("its status is 1, and storage refused nothing")
        if len(errors) != 1:
            wrong.append(f"its status is {status} with {len(errors)} lines that begin with error:")
        elif lines[-1] != errors[0]:
            wrong.append("its error is not the last line")
        elif extra := [line for line in lines[:-1] if not _PROGRESS.match(line)]:
            wrong.append(f"its status is {status} with one more line: {extra[0]}")
    elif errors and not status:
        wrong.append("its status is 0 with an error")
    if unseen := _UNSEEN.search(outcome.stderr):
        wrong.append(f"stderr holds {unseen[0]!r}")
    return wrong


def check_run(folder: Path, since_ns: int = 0) -> list[str]:
    """Return what is wrong with the stages of a run that wrote tables since a time: their record and their tables."""
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    wrong = []
    for stage, entry in record["stages"].items():
        files = [(table, file) for table in STAGES[stage].tables for file in record["tables"].get(table, [])]
        facts = {file["name"]: (folder / file["name"]).stat() for _, file in files if (folder / file["name"]).exists()}
        wrong += [f"{file['name']} is missing" for _, file in files if file["name"] not in facts]
        if not entry["complete"] or wrong or not any(fact.st_mtime_ns >= since_ns for fact in facts.values()):
            continue
        tables: dict[str, pa.Table] = {}
        for table, file in files:
            size = facts[file["name"]].st_size
            part = pq.ParquetFile(folder / file["name"]).read() if file["rows"] is not None else None
            rows = None if part is None else part.num_rows
            if (size, rows) != (file["bytes"], file["rows"]):
                wrong.append(f"{file['name']} has {size} bytes and {rows} rows, run.json says {file}")
            if part is not None and table in (*TABLES, "activations"):
                wrong += [f"{table}/: {line}" for line in check_table(table, part)]
                tables[table] = pa.concat_tables([tables[table], part]) if table in tables else part
        wrong += [f"{stage}: {line}" for line in check_counts(stage, entry, record, tables)]
    return wrong


def check_table(name: str, table: pa.Table) -> list[str]:
    """Return what is wrong with a table: other columns, nulls or values that are not finite, rows out of order."""
    if name == "activations":
        expected, order = activations_schema(layer_widths(table.schema)), ("sent_id",)
    else:
        expected, order = schema(name, meta_keys(table.schema)), TABLES[name].order
    if not table.schema.equals(expected):
        return [f"its columns are {table.schema.names}, expected {expected.names}, or are of other types"]
    wrong = []
    for field in expected:
        flat = table[field.name].combine_chunks()
        if flat.null_count and not field.nullable:
            wrong.append(f"{field.name} is null")
        while pa.types.is_list(flat.type) or pa.types.is_fixed_size_list(flat.type):
            flat = flat.flatten()
        if pa.types.is_floating(flat.type) and pc.all(pc.is_finite(flat)).as_py() is False:
            wrong.append(f"{field.name} is not finite")
    rows = list(zip(*(table[column].to_pylist() for column in order), strict=True))
    if not any(None in row for row in rows) and any(a > b for a, b in pairwise(rows)):
        wrong.append(f"its rows are not in the order of {', '.join(order)}")
    return wrong


def check_counts(stage: str, entry: Counts, record: Counts, tables: dict[str, pa.Table]) -> list[str]:
    """Return which counts of a finished stage differ from its tables, or from each other."""
    counts = entry["counts"]
    rows = Counter({table: sum(file["rows"] or 0 for file in files) for table, files in record["tables"].items()})
    # Side jobs may count something else by the name of a table.
    pairs = [(f"rows of {name}/", counts[name], rows[name]) for name in tables if type(counts.get(name)) is int]
    if stage == "ingest":
        corpus, sources = tables["corpus"], counts["sources"]
        sums = Counter({n: sum(one[n] for one in sources) for n in ("kept", "copies", "rejected", "not_sampled")})
        pairs += [(f"sentences of {one['dataset']}", one["sentences"], sum(one[n] for n in sums)) for one in sources]
        pairs += [("rows of corpus/", corpus.num_rows, number) for number in (counts["sentences"], sums["kept"])]
        pairs += [("rows of rejects/", rows["rejects"], sums["rejected"])]
        pairs += [("sent_id", corpus["sent_id"].to_pylist(), [*range(corpus.num_rows)])]
        if not sums["not_sampled"]:
            copies = pc.sum(corpus["n_copies"]).as_py() or 0
            pairs += [("sum of n_copies", copies, sums["kept"] + sums["copies"])]
    if stage == "topk":
        pairs += [(f"rows of {name}/", counts[name], rows[name]) for name in ("unscored", "neurons")]
        pairs += [("rows of activations/", counts["activation_sample"], rows["activations"])]
        sentences = record["stages"]["ingest"]["counts"]["sentences"]
        pairs += [("sentences", sentences, counts["scored"] + counts["unscored"])]
        winners = Counter(zip(*(tables["topk"][name].to_pylist() for name in ("layer", "unit", "pole")), strict=True))
        most = min(entry["identity"]["k"], counts["scored"])
        pairs += [("winners of a neuron", most, number) for number in {*winners.values()}]
    return [f"{what}: {one} and {other}" for what, one, other in pairs if one != other]
