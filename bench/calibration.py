"""Measures how often chance alone gives a finding, with random sets of winners; prints a table and JSON.

    python -m bench calibration --data FOLDER

Complete documents of every corpus are scored, annotated and read token by token by the jobs themselves. Then random
sets, each as large as a neuron's set of winners, are mined like winners. They are drawn in three ways: uniformly, with
a part of their score shared by document (`mild`), and from few documents (`few`). For each family of tests, the table
reports the share of sets in which any test has q below 0.05, next to the same share without design effects. The same
share is reported for the winners of real neurons, with the share of findings (q below 0.05, lift above 1) that remain
when design effects are applied. The exit status is 1 if the 99 % interval of a share is above 7 % (uniform, mild) or
10 % (few).
With `--score-sets` it also reports the held-out scores of random sets, both uniform sets and sets with one range of
lengths (`bench/score_calibration.py`).
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.mine import mining_options
from bench.running import load, run_job
from bench.score_calibration import score_rows
from jobs.run_folder.stages import CODES, PARTIALS
from ops.arrays import Bools, Float64s, Int64s, Integers
from ops.mine.baseline_counts import BlockCounter, add_up
from ops.mine.candidates import unite
from ops.mine.mining import Mining
from ops.mine.null_sets import document_set, uniform_set
from ops.mine.properties import Profiler
from ops.mine.range_tables import RangeTables
from ops.patterns.sequences import Sequences
from ops.schema import schema
from ops.sentences.local_copy import open_sentences
from ops.sentences.store import SentenceStore
from ops.statistics.false_discovery import description_rates
from ops.statistics.wilson import wilson
from ops.storage.store import Store
from ops.tokens.peaks import peak_rows
from ops.tokens.range_tables import range_tables
from ops.topk.neurons import POLES, Neurons, neuron_and_pole, read_neurons, set_number

ANY, EXCESS = "whole description", "auc_excess"
FAMILIES = {"patterns": "kind", "profiles": "property", "peaks": "property"}
LIMITS = {"uniform": 0.07, "mild": 0.07, "few": 0.10}
RATE, Z99 = 0.05, 2.5758293035489004
MILD, FEW = 0.5, 28  # the part of a score that documents share (mild); the number of documents (few)
LENGTHS = 6  # number of ranges of lengths
PER_DOCUMENT, AT_ONCE, PEAKS = 40, 100, 20  # most sentences of a document; sets mined together; peaks of a set


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench calibration", description=str(__doc__).splitlines()[0])
    parser.add_argument("--data", help="folder of Parquet files (text, doc_id); default: corpora/ in ATLAS_TEST_DATA")
    parser.add_argument("--sentences", type=int, default=2_700)
    parser.add_argument("--sets", type=int, default=300, help="random sets of each way")
    parser.add_argument("--neurons", type=int, default=150, help="real neurons and poles")
    parser.add_argument(
        "--score-sets", type=int, default=0, help="uniform sets that are scored; a fifth of each length"
    )
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="accepted by all benchmarks; this one always prints JSON")
    options = parser.parse_args()
    data = Path(options.data or os.path.join(os.environ.get("ATLAS_TEST_DATA", ""), "corpora"))
    files = sorted(data.glob("*.parquet"))
    if not files:
        print(f"error: bench calibration: {data} has no Parquet file; name a folder by --data", file=sys.stderr)
        return 2
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="atlas-bench-") as folder:
        os.environ["ATLAS_CACHE"] = f"{folder}/cache"
        out = Path(folder) / "run"
        annotate(files, out, options.sentences, options.k, options.seed)
        sentences = open_sentences(Store(str(out)), CODES, fingerprint(out))
        real = real_winners(Store(str(out)), sentences, options.neurons, options.seed)
        found = calibrate(sentences, real, options.sets, options.k, options.seed)
        mining = Mining(sentences, Neurons((1,)), mining_options(no_scores=False), options.seed)
        scored = score_rows(mining, options.k, options.score_sets, options.score_sets // 5, LENGTHS, options.seed)
    print(layout(found), file=sys.stderr)
    for row in scored:
        print(
            f"{row.null}: {row.sets:,} sets, auc {row.auc:.3f}, excess {row.excess:+.4f}, intervals that hold 0: "
            f"{row.covered:.1%} ({row.covered_low:.1%} to {row.covered_high:.1%}){'' if row.ok else ', beyond'}",
            file=sys.stderr,
        )
    wrong = beyond(found) + [f"scores of {row.null}" for row in scored if not row.ok]
    seconds = round(time.perf_counter() - started)
    result = {"bench": "calibration", "sentences": len(sentences.sent_id), "documents": sentences.documents}
    print(
        json.dumps(
            {
                **result,
                "families": found,
                "scores": [asdict(row) for row in scored],
                "beyond": wrong,
                "seconds": seconds,
                "load": load(),
            }
        )
    )
    return 1 if wrong else 0


def annotate(files: list[Path], out: Path, sentences: int, k: int, seed: int) -> None:
    """Draw complete documents, the same number of sentences from each file, and run the jobs on them."""
    random, flags = np.random.default_rng(seed), []
    for file in files:
        table = pq.read_table(file)
        document = np.unique(table["doc_id"].to_pylist(), return_inverse=True)[1]
        by_document = np.argsort(document, kind="stable")
        each = np.split(by_document, np.cumsum(np.bincount(document))[:-1])
        rows: list[int] = []
        for own in random.permutation(len(each)):
            first = int(random.integers(max(len(each[own]) - PER_DOCUMENT, 0) + 1))
            rows += each[own][first : first + PER_DOCUMENT].tolist()
            if len(rows) * len(files) >= sentences:
                break
        source = out.parent / file.name
        pq.write_table(table.take(rows), source)
        flags += ["--corpus", str(source)]
    run_job("topk", out, "--preset", "small", "--k", k, "--split", "none", *flags)
    run_job("annotate", out, "--preset", "small")
    run_job("tokens", out, "--preset", "small", "--keep-partials")


def fingerprint(out: Path) -> str:
    """Return the fingerprint of a run's annotated sentences."""
    return str(json.loads((out / "run.json").read_text())["stages"]["annotate"]["fingerprint"])


@dataclass(frozen=True)
class Sets:
    """Sets of sentences that are treated like winners.

    Attributes:
        rows: the sentences of each set, ascending.
        peaks: returns the rows of `peaks/`, with set i as the neuron and pole with index i.
    """

    rows: list[Int64s]
    peaks: Callable[[], pa.Table]


def real_winners(store: Store, sentences: SentenceStore, count: int, seed: int) -> Sets:
    """Return the winners of randomly drawn neurons and poles."""
    neurons = read_neurons(store)
    mining = Mining(sentences, neurons, mining_options(no_scores=True), seed, draws=False)
    number, winners = mining.winners(store, 0, len(neurons))
    random = np.random.default_rng([seed, 1])
    chosen = np.sort(random.choice(len(winners), min(count, len(winners)), replace=False))
    rows = [winners.items[winners.offsets[i] : winners.offsets[i + 1]].astype(np.int64) for i in chosen]
    files = [file for file in store.table_files(f"{PARTIALS}/tokens") if "/shard-" in file]

    def peaks() -> pa.Table:
        table = pa.concat_tables(range_tables(store, files, neurons, 0, len(neurons))["peaks"])
        of = neurons.number(table["layer"].to_numpy(), table["unit"].to_numpy())
        own = np.searchsorted(number[chosen], set_number(of, positions(table["pole"])))
        known = np.append(number[chosen], -1)[own] == set_number(of, positions(table["pole"]))
        return numbered(table.filter(pa.array(known)), own[known])

    return Sets(rows, peaks)


def random_peaks(sentences: SentenceStore, sets: list[Int64s], seed: int) -> pa.Table:
    """Return the rows of `peaks/` of random sets; some sentences of each set peak at a uniformly drawn word."""
    random = np.random.default_rng([seed, 3])
    rows = np.concatenate([random.permutation(own)[:PEAKS] for own in sets])
    own = np.repeat(np.arange(len(sets)), [min(len(some), PEAKS) for some in sets])
    lists = {}
    for name, found in (("word", sentences.words(rows)), ("tag", sentences.tags(rows))):
        items = pa.array(list(sentences.names[name]), pa.string()).take(pa.array(found.items))
        lists[name] = pa.ListArray.from_arrays(pa.array(found.offsets.astype(np.int32)), items)
    lengths = sentences.lengths(rows)
    at = np.where(lengths > 0, random.integers(np.maximum(lengths, 1)), -1).astype(np.int32)
    documents = np.asarray(sentences.doc[rows], np.int64)
    return peak_rows(Neurons((len(sets),)), own, lists["word"], lists["tag"], at, documents)


def numbered(table: pa.Table, own: Int64s) -> pa.Table:
    """Return rows of a table with set i as the neuron and pole with index i."""
    neuron, pole = neuron_and_pole(own)
    named = {"unit": pa.array(neuron), "pole": pa.array(POLES).take(pa.array(pole))}
    for name, column in named.items():
        table = table.set_column(table.schema.get_field_index(name), name, column)
    return table


def few_documents_set(documents: Integers, size: int, most: int, random: np.random.Generator) -> Int64s:
    """Draw a set of `size` sentences, as ascending indices, from all sentences of `most` random documents.

    If these documents have too few sentences, more documents are drawn until there are enough.

    Args:
        documents: the code of each sentence's document, counted from 0, `[sentences]`.
        size: number of sentences in the set; if there are fewer, all are returned.
        most: number of documents to draw.
        random: the random generator that makes the draws.
    """
    of_document = np.bincount(documents)
    order = random.permutation(np.flatnonzero(of_document))
    enough = int(np.searchsorted(np.cumsum(of_document[order]), size)) + 1
    chosen = np.zeros(len(of_document), np.bool_)
    chosen[order[: max(most, enough)]] = True
    rows = np.flatnonzero(chosen[documents])
    return np.sort(random.choice(rows, min(size, len(rows)), replace=False)).astype(np.int64)


def calibrate(
    sentences: SentenceStore, real: Sets, sets: int, k: int, seed: int, **options: Any
) -> dict[str, dict[str, Any]]:
    """Return the shares of findings in random sets and in real winners, for each family of tests.

    Args:
        sentences: all annotated sentences, from which random sets are drawn.
        real: the winners of real neurons and poles.
        sets: number of random sets that are drawn in each way.
        k: number of sentences in a random set.
        seed: the seed of all random draws.
        options: the options of `jobs.mine` that differ from the defaults.
    """
    documents = np.asarray(sentences.doc)
    ways = {
        "uniform": partial(uniform_set, len(documents), k),
        "mild": partial(document_set, documents, k, MILD),
        "few": partial(few_documents_set, documents, k, FEW),
    }
    given = mining_options(no_scores=not has_excess()) | options
    found: dict[str, dict[str, Any]] = {}
    for number, (way, drawn) in enumerate(ways.items()):
        random = np.random.default_rng([seed, 2, number])
        rows = [drawn(random) for _ in range(sets)]
        own = Sets(rows, partial(random_peaks, sentences, rows, seed + number))
        for name, findings in mined(sentences, own, given, seed).items():
            hits = len(np.unique(findings.owner[findings.sure]))
            by_sentence = len(np.unique(findings.owner[findings.sure_by_sentence]))
            _, low, high = wilson(hits / sets, sets, Z99)
            rates = {"share": hits / sets, "low": low, "high": high, "by_sentence": by_sentence / sets}
            found.setdefault(name, {})[way] = rates
    for name, findings in mined(sentences, real, given, seed).items():
        before = findings.sure_by_sentence & findings.preferred
        found.setdefault(name, {})["real"] = {
            "share": len(np.unique(findings.owner[findings.sure])) / len(real.rows),
            "by_sentence": len(np.unique(findings.owner[findings.sure_by_sentence])) / len(real.rows),
            "findings": int((findings.sure & findings.preferred).sum()),
            "findings_by_sentence": int(before.sum()),
            "kept": int((findings.sure & before).sum()),
        }
    return found


@dataclass(frozen=True)
class Findings:
    """The rows of one family of tests for all sets.

    Attributes:
        owner: the index of each row's set, `[rows]`.
        sure: whether q is below `RATE`.
        sure_by_sentence: whether q is below `RATE` without design effects.
        preferred: whether the lift is above 1.
    """

    owner: Int64s
    sure: Bools
    sure_by_sentence: Bools
    preferred: Bools


def mined(sentences: SentenceStore, sets: Sets, options: dict[str, Any], seed: int) -> dict[str, Findings]:
    """Mine sets of sentences as winners, with and without design effects, and return the findings of each family."""
    with_effects = families(sentences, sets, options, seed)
    with ExitStack() as patches:
        patches.enter_context(patch("ops.mine.findings.design_effects", no_effect))
        patches.enter_context(patch("ops.mine.profile_rows.expected_effects", no_effect))
        patches.enter_context(patch("ops.tokens.peaks.effects_of_residuals", lambda *given: no_effect(given[-1])))
        without = families(sentences, sets, options, seed)
    return {
        name: Findings(owner, q < RATE, without[name][1] < RATE, lift > 1)
        for name, (owner, q, lift) in with_effects.items()
    }


def no_effect(count: Any, *rest: Any) -> Float64s:
    """Return a design effect of 1 everywhere, as a replacement for the real one."""
    return np.ones(np.shape(count))


Rows = tuple[Int64s, Float64s, Float64s]  # the set, q and lift of each row


def families(sentences: SentenceStore, sets: Sets, options: dict[str, Any], seed: int) -> dict[str, Rows]:
    """Return the rows of each family of tests; the family of complete descriptions comes last."""
    found: dict[str, list[Rows]] = {}
    for first in range(0, len(sets.rows), AT_ONCE):
        for table, rows in tables_of(sentences, sets.rows[first : first + AT_ONCE], options, seed):
            add_rows(found, table, rows, first)
    add_rows(found, "peaks", sets.peaks(), 0)
    whole = {name: concatenated(parts) for name, parts in sorted(found.items())}
    tested = {name: rows for name, rows in whole.items() if name != EXCESS}
    owner, q, lift = concatenated(list(tested.values()))
    family = np.repeat(list(tested), [len(rows[0]) for rows in tested.values()])
    return {**whole, ANY: (owner, description_rates(q, family, owner), lift)}


def add_rows(found: dict[str, list[Rows]], table: str, rows: pa.Table, first: int) -> None:
    """Add a table's rows to those of each of its families; the neuron and pole with index 0 are set `first`."""
    owner = set_number(rows["unit"].to_numpy().astype(np.int64), positions(rows["pole"])) + first
    if table == "scores" and has_excess():
        low = rows["auc_excess_low"].to_numpy()
        found.setdefault(EXCESS, []).append((owner, np.where(low > 0, 0.0, 1.0), np.full(len(owner), 2.0)))
    if table not in FAMILIES:
        return
    names = rows[FAMILIES[table]].to_numpy()
    q, lift = (rows[name].to_numpy().astype(np.float64) for name in ("q_value", "lift"))
    for name in np.unique(names):
        own = names == name
        found.setdefault(f"{table} {name}", []).append((owner[own], q[own], lift[own]))


def concatenated(parts: list[Rows]) -> Rows:
    """Return the concatenated rows of all parts."""
    owner, q, lift = (np.concatenate(column) for column in zip(*parts, strict=True))
    return owner, q, lift


def positions(poles: pa.ChunkedArray) -> Int64s:
    """Return the index in `POLES` of each pole."""
    return np.array([POLES.index(pole) for pole in poles.to_pylist()], np.int64)


def tables_of(
    sentences: SentenceStore, sets: list[Int64s], options: dict[str, Any], seed: int
) -> Iterator[tuple[str, pa.Table]]:
    """Yield each table that `jobs.mine` writes for these sets, with set i as the neuron and pole with index i."""
    mining = Mining(sentences, Neurons((len(sets),)), options, seed)
    number = np.arange(len(sets))
    lengths = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    winners = Sequences(np.concatenate(sets).astype(np.int32), lengths)
    candidates = mining.candidates(number, winners)
    parts = mining.baseline_rows(0, len(sentences.sent_id))
    union = unite([candidates])
    totals = add_up([BlockCounter(union, mining.kinds, Profiler(mining.text)).count(parts)])
    for table, groups in RangeTables(mining, union, totals).of(candidates, number, winners):
        several = list(groups)
        if several:
            yield table, pa.concat_tables(several)


def has_excess() -> bool:
    """Return whether `scores/` has an interval of the area's excess over that of a matched set."""
    return "auc_excess_low" in schema("scores").names


def beyond(found: dict[str, dict[str, Any]]) -> list[str]:
    """Return the families and ways whose interval is above the limit."""
    return [
        f"{name}, {way}"
        for name, ways in found.items()
        for way, limit in LIMITS.items()
        if way in ways and ways[way]["low"] > limit
    ]


def layout(found: dict[str, dict[str, Any]]) -> str:
    """Return the table as Markdown."""
    lines = ["| family | uniform | mild | few | real | findings kept |", "|---|---|---|---|---|---|"]
    for name, ways in found.items():
        cells = [name]
        for way in (*LIMITS, "real"):
            own = ways.get(way)
            cells.append("" if own is None else f"{own['share']:.1%} ({own['by_sentence']:.1%})")
        real = ways.get("real")
        cells.append("" if real is None else f"{real['kept']:,} of {real['findings_by_sentence']:,}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
