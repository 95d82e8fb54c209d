"""Measures the time to render a neuron's page of a large run, and the server's memory, and prints one line of JSON.

    python -m bench browse
    python -m bench browse --winners 1000 --folder /tmp/large     # keeps the run, and reuses it if it exists

A synthetic run is written by the tables' own writer: 12 layers of 768 units, 10,000 winners of each pole (the first of
them token by token), and sentences of random words. Then the server renders the pages of randomly drawn neurons, each
once. The exit status is 1 if a page is incomplete, if the median page takes half a second or more, or if a page or the
overview has 1 MB or more.
"""

import argparse
import json
import re
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench.running import load
from jobs.browse.server import Browser
from jobs.run_folder.run import Run
from ops.schema import activations_schema, schema
from ops.storage.store import Store
from ops.storage.tables import write_part
from ops.topk.neurons import POLES, Neurons, parts

TARGET, LARGEST = 0.5, 1_000_000  # maximum seconds and bytes of a page
LISTED, READ = 50, 20  # number of a pole's winners on a page, and of those that are read token by token
WORDS, PATTERNS, VALUES, SAMPLE, BINS = 20, 60, 40, 10_000, 300
PER_FILE = 100_000  # number of sentences in a file
IDENTITY = {"k": 0, "poles": "both", "site": "hidden", "pool": "mean", "special_tokens": "include", "dtype": "float32"}
MINE = {"no_scores": False, "subtree_root": "keep", "punctuation": "drop", "word_case": "keep"}
MINE |= {"word_max_gap": 4, "tag_max_gap": 2}


def main() -> int:
    """Run the benchmark and print its line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--units", type=int, default=768)
    parser.add_argument("--winners", type=int, default=10_000)
    parser.add_argument("--sentences", type=int, default=1_000_000)
    parser.add_argument("--pages", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", help="folder of the run; it is made if it is missing, and kept")
    parser.add_argument("--json", action="store_true", help="accepted by all benchmarks; this one always prints JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(options.folder or folder) / "run"
        neurons = Neurons((options.units,) * options.layers)
        if not (out / "run.json").is_file():
            write_run(str(out), neurons, options.winners, options.sentences, options.seed)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        pages = Browser(str(out), LISTED, 30.0).pages
        pages.neuron("1-0")
        rng = np.random.default_rng(options.seed + 1)
        seconds, own, sizes, whole = [], [], [], 0
        for number in rng.choice(len(neurons), options.pages, replace=False):
            layer, unit = (int(x[0]) for x in neurons.layer_and_unit(np.array([number])))
            wall, cpu = time.perf_counter(), time.process_time()
            page = pages.neuron(f"{layer}-{unit}")
            seconds.append(time.perf_counter() - wall)
            own.append(time.process_time() - cpu)
            text = str(page.body) if page else ""
            sizes.append(len(text))
            ranks = re.findall(r'data-rank="(\d+)"', text)
            shaded = len(re.findall(r"<li [^>]*>(?=[^\n]*title=)", text))
            listed = min(LISTED, options.winners)
            whole += len(ranks) == 2 * listed and shaded == 2 * min(READ, listed)
        began = time.perf_counter()
        overview = len(str(pages.overview().body).encode())
        overview_s = time.perf_counter() - began
    median = statistics.median(seconds)
    met = median < TARGET and max(*sizes, overview) < LARGEST
    result: dict[str, Any] = {
        "neurons": len(neurons), "winners": options.winners, "sentences": options.sentences, "pages": options.pages,
        "pages_whole": whole, "page_bytes": max(sizes),
        "page_s": round(median, 3), "slowest_s": round(max(seconds), 3), "page_cpu_s": round(statistics.median(own), 3),
        "overview_s": round(overview_s, 3), "overview_bytes": overview,
        "memory_gained_mb": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024,
        "load": load(), "target_met": met,
    }  # fmt: skip
    print(json.dumps({"bench": "browse", **result}))
    return 0 if whole == options.pages and met else 1


def write_run(out: str, neurons: Neurons, winners: int, sentences: int, seed: int) -> None:
    """Write a finished run with every table that a neuron's page reads, filled with random numbers and words."""
    rng = np.random.default_rng(seed)
    run = Run(out)
    run.record["model"] = {"name": "m", "type": "bert", "layers": len(neurons.widths), "width": neurons.widths[0]}
    run.record["model"]["fingerprint"] = "0" * 64
    for stage, write, config in (
        ("ingest", _write_nothing, {}),
        ("topk", _write_topk, {}),
        ("annotate", _write_sentences, {}),
        ("mine", _write_mined, MINE),
        ("tokens", _write_tokens, {}),
    ):
        identity = {**IDENTITY, "k": winners} if stage == "topk" else {}
        own = run.begin(stage, identity, config, redo=False)
        if own is None:
            raise RuntimeError(f"{out}: {stage} already exists")
        write(run.store_of(stage), neurons, winners, sentences, rng, own)
        counts: dict[str, Any] = {"sources": [], "scored": sentences}
        run.finish(stage, counts, 0.0)
    run.release()


def _write_nothing(
    store: Store, neurons: Neurons, winners: int, sentences: int, rng: np.random.Generator, own: str
) -> None:
    write_part(store, "rejects", 0, schema("rejects"), [], own)


def _sets(neurons: Neurons, first: int, stop: int, rows: int) -> dict[str, Any]:
    """Return the columns layer, unit and pole of the neurons from `first` to `stop` - 1, with `rows` rows a pole."""
    layer, unit = neurons.layer_and_unit(np.arange(first, stop))
    pole = pa.array(np.tile(np.repeat(np.arange(2, dtype=np.int8), rows), stop - first))
    poles = pa.DictionaryArray.from_arrays(pole, pa.array(list(POLES))).cast(pa.string())
    return {"layer": np.repeat(layer, 2 * rows), "unit": np.repeat(unit, 2 * rows), "pole": poles}


def _write_topk(
    store: Store, neurons: Neurons, winners: int, sentences: int, rng: np.random.Generator, own: str
) -> None:
    together = max(1, 60_000 // (2 * winners))
    for part, first, stop in parts(len(neurons)):

        def rows(first: int = first, stop: int = stop) -> Iterator[pa.Table]:
            for a in range(first, stop, together):
                b = min(a + together, stop)
                rank = np.tile(np.arange(1, winners + 1, dtype=np.int32), 2 * (b - a))
                ids = rng.integers(0, sentences, len(rank))
                values = (1 / rank).astype(np.float32)
                yield pa.table({**_sets(neurons, a, b, winners), "rank": rank, "activation": values, "sent_id": ids})

        write_part(store, "topk", part, schema("topk"), rows(), own)
        n = stop - first
        layer, unit = neurons.layer_and_unit(np.arange(first, stop))
        columns: dict[str, Any] = {"layer": layer, "unit": unit, "n": np.full(n, sentences)}
        for field in list(schema("neurons"))[3:]:
            # Only sparse features have other counts than n.
            columns[field.name] = pa.nulls(n, field.type) if field.type == pa.int64() else rng.normal(size=n)
        columns["min"], columns["max"] = np.full(n, -1.0), np.full(n, 1.0)
        edges = np.linspace(-1, 1, BINS - 1).astype(np.float32)
        columns["histogram_edges"], columns["histogram_counts"] = [edges] * n, [rng.integers(0, 99, BINS)] * n
        write_part(store, "neurons", part, schema("neurons"), [pa.table(columns)], own)
    kind = activations_schema(neurons.by_layer)

    def sample() -> Iterator[pa.Table]:
        size = min(SAMPLE, sentences)
        for a in range(0, size, 512):
            n = min(512, size - a)
            layers = [
                pa.FixedSizeListArray.from_arrays(rng.normal(size=n * w).astype(np.float32), w) for w in neurons.widths
            ]
            yield pa.table([pa.array(np.arange(a, a + n)), *layers], schema=kind)

    write_part(store, "activations", 0, kind, sample(), own)
    write_part(store, "unscored", 0, schema("unscored"), [], own)


def _write_sentences(
    store: Store, neurons: Neurons, winners: int, sentences: int, rng: np.random.Generator, own: str
) -> None:
    vocabulary = np.array([f"word{i}" for i in range(20_000)])
    tree = "(ROOT (S " + " ".join(f"(NN word{i})" for i in range(WORDS)) + "))"
    for part, first in enumerate(range(0, sentences, PER_FILE)):
        n = min(PER_FILE, sentences - first)
        chosen = rng.integers(0, len(vocabulary), n * WORDS)
        texts = [" ".join(row) for row in vocabulary[chosen].reshape(n, WORDS)]
        ends = pa.array(np.arange(0, n * WORDS + 1, WORDS, dtype=np.int32))
        columns: dict[str, Any] = {
            "sent_id": np.arange(first, first + n), "text": texts, "dataset": ["d"] * n, "doc_id": ["d"] * n,
            "words": pa.ListArray.from_arrays(ends, _spread(vocabulary.tolist(), chosen)),
            "tags": pa.ListArray.from_arrays(ends, _spread(["NN"], np.zeros(n * WORDS, int))),
            "tree": [tree] * n, "is_baseline": np.ones(n, bool), "is_winner": np.ones(n, bool),
            "fold": np.zeros(n, np.int8), "wins": np.ones(n, np.int32),
        }  # fmt: skip
        write_part(store, "sentences", part, schema("sentences"), [pa.table(columns)], own)


def _numbers(rng: np.random.Generator, rows: int, names: list[str]) -> dict[str, Any]:
    """Return columns of measures with random values, and with q values that are significant."""
    made = {name: rng.uniform(0.01, 0.5, rows) for name in names}
    return {**made, **({"q_value": np.full(rows, 1e-6)} if "q_value" in names else {})}


def _spread(values: list[Any], which: Any) -> pa.Array:
    """Return, for each of these indices, the value with that index."""
    return pa.array(values).take(pa.array(which))


def _write_mined(
    store: Store, neurons: Neurons, winners: int, sentences: int, rng: np.random.Generator, own: str
) -> None:
    kinds = ("subtree", "tag", "word")
    for part, first, stop in parts(len(neurons)):
        sets = 2 * (stop - first)
        n = sets * PATTERNS
        patterns = {"subtree": "(S (NN))", "tag": "NN NN", "word": "word1 word2"}
        kind = np.tile(np.arange(PATTERNS) * 3 // PATTERNS, sets)
        items = [patterns[k].replace("(", "").replace(")", "").split() for k in kinds]
        columns = {
            **_sets(neurons, first, stop, PATTERNS), "kind": _spread(list(kinds), kind),
            "pattern": _spread([patterns[k] for k in kinds], kind), "items": _spread(items, kind),
            "size": np.full(n, 2), "support": np.full(n, 9), "docs": np.full(n, 9),
            "rank": np.tile(np.arange(PATTERNS) + 1, sets),
        }  # fmt: skip
        _write(store, "patterns", part, columns, rng, n, own)
        n = sets * VALUES
        columns = {
            **_sets(neurons, first, stop, VALUES), "property": _spread(["author"], np.zeros(n, int)),
            "value": _spread([f"a{i}" for i in range(VALUES)], np.tile(np.arange(VALUES), sets)),
            "count": np.full(n, 9), "n": np.full(n, winners), "baseline_n": np.full(n, 1_000), "docs": np.full(n, 9),
            "rank": np.tile(np.arange(VALUES) + 1, sets),
        }  # fmt: skip
        _write(store, "profiles", part, columns, rng, n, own)
        columns = {**_sets(neurons, first, stop, 1), "property": ["words_per_sentence"] * sets}
        _write(store, "means", part, {**columns, "n": np.full(sets, winners)}, rng, sets, own)
        columns = {**_sets(neurons, first, stop, 1), "n_winners": np.full(sets, 9), "n_baseline": np.full(sets, 9)}
        _write(store, "scores", part, columns, rng, sets, own)


def _write_tokens(
    store: Store, neurons: Neurons, winners: int, sentences: int, rng: np.random.Generator, own: str
) -> None:
    """Write the first winners token by token, with the same sentences as in topk/."""
    top = min(READ, winners)
    starts, ends = [*range(0, 5 * WORDS, 5)], [*range(4, 5 * WORDS, 5)]
    for part, first, stop in parts(len(neurons)):
        n = 2 * top * (stop - first)
        with store.parquet(f"topk/part-{part:05d}.parquet") as file:
            held = file.read(columns=["rank", "sent_id"])
        columns = {
            **_sets(neurons, first, stop, top), "rank": np.tile(np.arange(top) + 1, n // top),
            "sent_id": held["sent_id"].to_numpy()[held["rank"].to_numpy() <= top],
            "tokens": _spread([["word"] * WORDS], np.zeros(n, int)),
            "starts": _spread([starts], np.zeros(n, int)), "ends": _spread([ends], np.zeros(n, int)),
            "activations": list(rng.normal(size=(n, WORDS))),
        }  # fmt: skip
        _write(store, "token_activations", part, columns, rng, n, own)
        columns = {
            **_sets(neurons, first, stop, 1),
            "property": ["peak_word"] * (n // top),
            "value": ["a"] * (n // top),
        }
        counts = {"count": np.full(n // top, 5), "n": np.full(n // top, top), "rank": np.ones(n // top, int)}
        _write(store, "peaks", part, {**columns, **counts}, rng, n // top, own)


def _write(
    store: Store, table: str, part: int, columns: dict[str, Any], rng: np.random.Generator, rows: int, own: str
) -> None:
    """Write a part; the remaining columns are random numbers."""
    kind = schema(table)
    left = [name for name in kind.names if name not in columns]
    made = pa.table({**columns, **_numbers(rng, rows, left)}).select(kind.names)
    write_part(store, table, part, kind, [made], own)


if __name__ == "__main__":
    sys.exit(main())
