"""Measures how the stages around scoring grow with the corpus, on synthetic corpora of several sizes.

    python -m bench scale --stage all

Synthetic sentences, four to a document, go through the production code. Their words follow Zipf's law, so that the
vocabulary grows too. The measured parts are: annotate's publishing, the vocabulary, mining's copy and a worker's share
of it, the counting, tables and scores of a few neurons, and the merge of up to 820 partial files. Each part runs in its
own process. Seconds are processor time, `mb` is the highest memory minus the memory at the start, and `own_mb` is the
part of it that is not mapped files. The benchmark prints one line of JSON.

The time of some parts should be proportional to the number of sentences. The exit status is 1 if such a part takes over
15 % longer per sentence at the largest size than at the smallest. It is also 1 if a part of the driver takes more than
2 GB.
"""

import json
import multiprocessing
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from bench.mine import mine_steps, mining_options, write_neurons
from bench.running import load
from bench.steps import PRINT, commit, committing, seconds
from jobs.annotate.steps import PLACES, VOCABULARY, codes_file, list_names, shard_files
from jobs.mine.steps import MineArgs, RangeMiner, baseline_blocks
from jobs.run_folder.stages import CODES
from jobs.stage.outputs import Written, read_notes, shard_file
from jobs.stage.step import Step
from jobs.topk.merge import RangeMerger, range_items
from jobs.topk.score import PILOT_FILE
from ops.reducers.moments import Moments
from ops.schema import activations_schema, schema
from ops.sentences.local_copy import open_sentences
from ops.sentences.selection import mark_sentences
from ops.shards import Shards
from ops.storage.store import Store, View
from ops.storage.tables import write_part
from ops.topk import partial_file as topk_partial
from ops.topk.neurons import Neurons
from ops.topk.pilot import Pilot

SIZES = (250_000, 1_000_000, 4_000_000)
SHARD, WORDS = 25_000, 2_000_000
FILES, NEURONS, CANDIDATES, BINS = (205, 820), 512, 20, 280
MINED, K, BLOCKS = 8, 100, 3
SLOWER, DRIVER_MB = 0.15, 2_000
MB = 1e6
LAYOUT = activations_schema({1: MINED})
TAGS = ("DT", "JJ", "NN", "NN", "IN", "DT", "NN", "VBZ", "RB", "VBN", "NNS", ".")


def measure(sizes: list[int], folder: str | None) -> int:
    """Print every measurement at each size, and return the exit status."""
    with tempfile.TemporaryDirectory(prefix="atlas-bench-", dir=folder) as out:
        os.environ["ATLAS_CACHE"] = f"{out}/cache"
        published = alone(publish, out, max(sizes))
        figures = {str(size): stages(out, size) for size in sizes}
        merges = {str(files): merge(out, files) for files in FILES}
    per_shard = published.pop("each")
    first, last = (float(np.median(per_shard[part])) / SHARD for part in (slice(None, 4), slice(-4, None)))
    small, large = figures[str(min(sizes))], figures[str(max(sizes))]
    slower = {
        name: round(large[name]["us_a_sentence"] / max(small[name]["us_a_sentence"], 1e-3) - 1, 3)
        for name in ("copy", "count")
    }
    slower["publish"] = round(last / first - 1, 3)
    few, many = (merges[str(files)]["ms_a_file"] for files in FILES)
    slower["merge"] = round(many / few - 1, 3)
    driver = max(large[name]["mb"] for name in ("select", "vocabulary"))
    fine = all(value <= SLOWER for value in slower.values()) and driver <= DRIVER_MB
    us = {"first_us_a_sentence": round(1e6 * first, 2), "last_us_a_sentence": round(1e6 * last, 2)}
    result = {"bench": "scale", "stage": "all", "publish": {**published, **us}, "sizes": figures, "merge": merges}
    print(json.dumps({**result, "slower": slower, "within": SLOWER, "steady": fine, "load": load()}))
    return 0 if fine else 1


def alone(do: Callable[..., dict[str, Any]], *args: Any) -> dict[str, Any]:
    """Return a function's result from a new process, with its seconds and its memory."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_watched, do, args).result()


def _watched(do: Callable[..., dict[str, Any]], args: tuple[Any, ...]) -> dict[str, Any]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    found = do(*args)
    took, after = time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    own = int(status["RssAnon"].split()[0])
    return {
        "seconds": round(took, 2),
        "mb": round((after - before) * 1024 / MB),
        "own_mb": round(own * 1024 / MB),
        **found,
    }


def publish(out: str, size: int) -> dict[str, Any]:
    """Publish all shards as annotate's workers do; return the seconds of each, without those of creating sentences."""
    rng, each = np.random.default_rng(0), []
    store, names = Store(out), pa.array([f"w{n}" for n in range(WORDS + 1)])
    for shard in range(-(-size // SHARD)):
        table = sentences(rng, shard, names)
        started = time.process_time()
        commit(store, shard_files({"shard": shard}, table))
        each.append(time.process_time() - started)
    return {"each": each, "seconds": round(sum(each), 2)}


def sentences(rng: np.random.Generator, shard: int, names: pa.Array) -> pa.Table:
    """Return a shard's rows of sentences/, each of 8 to 24 words; every second sentence is in the baseline."""
    ids = np.arange(shard * SHARD, (shard + 1) * SHARD)
    lengths = rng.integers(8, 25, SHARD)
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    words = names.take(pa.array(np.minimum(rng.zipf(1.2, ends[-1]), WORDS)))
    tags = pa.array(TAGS).take(pa.array(np.arange(ends[-1]) % len(TAGS)))
    trees = {n: _tree(n) for n in range(8, 25)}
    columns = {
        "sent_id": ids,
        "text": pa.repeat("made up", SHARD),
        "dataset": pa.repeat("made up", SHARD),
        "doc_id": [f"d{i // 4}" for i in ids],
        "meta": pa.StructArray.from_arrays([pa.array([f"t{i % 1000}" for i in ids])], ["topic"]),
        "words": pa.ListArray.from_arrays(ends, words),
        "tags": pa.ListArray.from_arrays(ends, tags),
        "tree": [trees[n] for n in lengths.tolist()],
        "is_baseline": ids % 2 == 0,
        "is_winner": ids >= 0,
        "fold": ids // 4 % 10,
        "wins": np.ones(SHARD, np.int32),
    }
    layout = schema("sentences", ["topic"])
    return pa.table([pa.array(columns[name], type=layout.field(name).type) for name in layout.names], schema=layout)


def _tree(words: int) -> str:
    """Return a tree of this number of words, with one phrase for every three words."""
    leaves = [f"({TAGS[i % len(TAGS)]} w)" for i in range(words)]
    return f"(ROOT (S {' '.join(f'(NP {chr(32).join(leaves[i : i + 3])})' for i in range(0, words, 3))}))"


def stages(out: str, size: int) -> dict[str, dict[str, Any]]:
    """Return the measurements of every part at one size; a worker's start has no measurement per sentence."""
    parts = (select, vocabulary, copy, hold, count)
    # Each part is measured twice, and the measurement with fewer disturbances is used.
    found = {
        part.__name__: min((alone(part, out, size) for _ in range(2)), key=lambda own: own["seconds"]) for part in parts
    }
    for own in found.values():
        if of := own.pop("sentences"):
            own["us_a_sentence"] = round(1e6 * own["seconds"] / of, 3)
    return found


def seen(out: str, size: int) -> Store:
    """Return the run's folder as it looks with this number of sentences."""
    outputs = [*map(codes_file, range(size // SHARD)), PLACES, VOCABULARY]
    return Store(out, View(files={CODES: tuple(output.path for output in outputs)}))


def select(out: str, size: int) -> dict[str, Any]:
    """Mark a tenth of the sentences as the baseline and some as winners, as the driver does."""
    store = Store(f"{out}/select-{size}")
    ids = pa.array(np.arange(0, size, 97))
    winners = {"layer": pa.repeat(1, len(ids)), "unit": pa.repeat(0, len(ids)), "pole": pa.repeat("top", len(ids))}
    winners |= {"rank": pa.array(range(1, len(ids) + 1)), "activation": pa.repeat(0.0, len(ids)), "sent_id": ids}
    for name, table in (("topk", pa.table(winners)), ("activations", pa.table([ids], names=["sent_id"]))):
        layout = schema(name) if name == "topk" else table.schema
        write_part(store, name, 0, layout, [table.cast(layout)], PRINT)
    write_part(store, "unscored", 0, schema("unscored"), [], PRINT)
    marks, _ = mark_sentences(store, Shards(size, SHARD), False, size // 10, 0)
    return {"sentences": size, "marked": int(np.count_nonzero(marks))}


def vocabulary(out: str, size: int) -> dict[str, Any]:
    """Merge the names of all shards, as the driver does."""
    store = Store(out)
    commit(store, list_names({}, store, size // SHARD))
    return {"sentences": size}


def copy(out: str, size: int) -> dict[str, Any]:
    """Create a machine's copy of the codes, as the first of its workers does."""
    shutil.rmtree(os.environ["ATLAS_CACHE"], ignore_errors=True)
    store = open_sentences(seen(out, size), CODES, _print(size))
    return {"sentences": size, "words": len(store.names["word"]), "documents": store.documents}


def hold(out: str, size: int) -> dict[str, Any]:
    """Start a mining worker."""
    RangeMiner(mine_args(out, size))
    return {"sentences": 0}


def count(out: str, size: int) -> dict[str, Any]:
    """Mine a few neurons, count their candidates over blocks of sentences, and write tables and scores.

    Seconds are for counting only. The other parts are reported in milliseconds of processor time per neuron, which
    should hardly depend on the size.
    """
    args, rng = mine_args(out, size), np.random.default_rng(1)
    store = args.store
    write_part(store, "activations", 0, LAYOUT, [], PRINT)
    write_neurons(store, args.neurons)
    unit = np.repeat(np.arange(MINED), K)
    rows = {"layer": np.ones(len(unit)), "unit": unit, "pole": ["top"] * len(unit), "rank": np.arange(len(unit))}
    rows |= {"activation": np.zeros(len(unit)), "sent_id": rng.integers(0, size, len(unit))}
    winners = pa.table({name: pa.array(values).cast(schema("topk").field(name).type) for name, values in rows.items()})
    write_part(store, "topk", 0, schema("topk"), [winners], PRINT)
    every = baseline_blocks(size)
    blocks = [{**block, "block": i} for i, block in enumerate(every[:: max(len(every) // BLOCKS, 1)][:BLOCKS])]
    steps = mine_steps(args, [{"range": 0, "first": 0, "stop": MINED}], blocks, K)
    mined = seconds(steps["patterns"], store, warm=True)
    seconds(steps["union"], store)
    do = committing(steps["baseline"], store)
    do(blocks[0])  # the first item determines what is counted, and compiles
    started = time.process_time()
    for block in blocks[1:]:
        do(block)
    took = time.process_time() - started
    seconds(steps["totals"], store)
    written = seconds(steps["tables"], store, warm=True)
    baseline = open_sentences(store, CODES, args.sentences).baseline
    counted = sum(np.count_nonzero(baseline[block["first"] : block["stop"]]) for block in blocks[1:])
    each = {"mine_ms_a_neuron": round(1e3 * mined / MINED, 2), "tables_ms_a_neuron": round(1e3 * written / MINED, 2)}
    return {"sentences": int(counted), "seconds": round(took, 2), **each}


def mine_args(out: str, size: int) -> MineArgs:
    """Return the arguments of a mining worker, which writes to a folder named after this size."""
    return MineArgs(
        store=Store(f"{out}/mine-{size}"), neurons=Neurons((MINED,)), seed=0, sentences=_print(size),
        options=mining_options(),
    )  # fmt: skip


def _print(size: int) -> str:
    # A copy is identified by the first half of the fingerprint.
    return f"{size:032d}" * 2


def merge(out: str, files: int) -> dict[str, Any]:
    """Merge this number of partial files of some neurons, with the ranges one at a time and all together."""
    folder = f"{out}/merge-{files}"
    write_shards(Store(folder), files)
    one, all_ = (alone(merge_ranges, folder, files, together) for together in (1, NEURONS))
    noted = alone(note, folder, files)
    return {
        "ms_a_file": round(1e3 * all_["seconds"] / files, 2),
        "ms_a_file_one_range_at_a_time": round(1e3 * one["seconds"] / files, 2),
        "mb": all_["mb"],
        "driver_ms_a_file": round(1e3 * noted["seconds"] / files, 2),
    }


def write_shards(store: Store, files: int) -> None:
    """Write a pilot and the partial files of shards, all with the same content."""
    rng = np.random.default_rng(0)
    pilot = Pilot(np.sort(rng.normal(size=(NEURONS, BINS - 1)).astype(np.float32)), Neurons((NEURONS,)), False, None)
    commit(store, {PILOT_FILE: Written(NEURONS, pilot.write)})
    ends = np.arange(NEURONS + 1, dtype=np.int32) * CANDIDATES
    values = rng.normal(size=NEURONS * CANDIDATES).astype(np.float32)
    moments = Moments.of(torch.from_numpy(rng.normal(size=(CANDIDATES, NEURONS)).astype(np.float32)))
    counts, none = rng.poisson(100_000 / BINS, (NEURONS, BINS)), np.zeros((NEURONS, 0), np.float32)
    for shard in range(files):
        ids = np.tile(np.arange(CANDIDATES), NEURONS) + shard * SHARD
        column = tuple(pa.ListArray.from_arrays(ends, pa.array(c)) for c in (values, ids))
        table = topk_partial.shard_table(dict.fromkeys(("top", "bottom"), column), moments, counts, none)  # type: ignore[arg-type]
        notes: dict[str, Any] = {"unscored": {}, "sampled": []}
        rows = topk_partial.ShardRows.of(table)
        commit(store, {shard_file("topk", shard): Written(rows.in_file, rows.write, notes)})


def merge_ranges(folder: str, files: int, together: int) -> dict[str, Any]:
    """Merge as a worker does, some ranges of neurons at a time."""
    merger = RangeMerger(Store(folder), Neurons((NEURONS,)), files, K, ("top", "bottom"), PRINT, np.ones(1))
    for item in range_items(NEURONS, together):
        if row := merger(item)["damaged"]:
            raise RuntimeError(f"damaged partial files: {row}")
    return {}


def note(folder: str, files: int) -> dict[str, Any]:
    """Check that all files are complete and read their notes, as the driver does."""
    store, items = Store(folder), [{"shard": i} for i in range(files)]
    step = Step(
        name="check", items=items, outputs=lambda item: [shard_file("topk", item["shard"])], worker=RangeMerger, args={}
    )
    notes = read_notes(store, [output for item in items for output in step.outputs(item)])
    if step.missing(store, PRINT) or len(notes) != files:
        raise RuntimeError("a partial file is not complete")
    return {}
