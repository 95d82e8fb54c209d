"""How often chance alone shows a finding: random winner sets through the job's own functions, as a table and JSON.

    python -m bench calibration --data ../shared/corpora

Sentences of whole documents of every corpus are scored, annotated and read token by token by the jobs themselves. Then
random sets of as many sentences as a neuron has winners are mined like winners, drawn in three ways: uniformly; with a
part of their score in common by document (`mild`); and out of few documents. For each family of tests the table says in
what share of the sets anything has q below 0.05, next to the same share without design effects; of the winners
of real neurons it says that share too, and how many findings (q below 0.05, lift above 1) are kept of those that there
are without design effects. Exit status 1 where the 99 % interval of a share lies above 7 % (uniform, mild) or 10 %
(few).
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.running import load, run_job
from jobs.mine.job import MINE_OPTIONS, MineConfig
from jobs.stage.stages import CODES
from ops.arrays import Bools, Float64s, Int64s
from ops.mine.baseline_counts import baseline_table, counters
from ops.mine.candidates import unite
from ops.mine.mining import Mining
from ops.mine.null_sets import document_set, few_documents_set, uniform_set
from ops.mine.properties import Profiler
from ops.mine.range_tables import RangeTables
from ops.patterns.sequences import Sequences
from ops.schema import schema
from ops.sentences.local_copy import open_sentences
from ops.sentences.store import SentenceStore
from ops.statistics.false_discovery import description_rates
from ops.statistics.wilson import wilson
from ops.storage.store import Store
from ops.topk.neurons import POLES, Neurons, layer_widths

ANY, EXCESS = "whole description", "auc_excess"
FAMILIES = {"patterns": "kind", "profiles": "property"}
LIMITS = {"uniform": 0.07, "mild": 0.07, "few": 0.10}
RATE, Z99 = 0.05, 2.5758293035489004
MILD, FEW = 0.5, 28  # the documents' part of a score; documents
PER_DOCUMENT, AT_ONCE = 40, 100  # sentences of a document at most; sets that are mined together


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench calibration", description=str(__doc__).splitlines()[0])
    parser.add_argument("--data", help="folder of Parquet files (text, doc_id); none: corpora/ below ATLAS_TEST_DATA")
    parser.add_argument("--sentences", type=int, default=2_700)
    parser.add_argument("--sets", type=int, default=300, help="random sets of each way")
    parser.add_argument("--neurons", type=int, default=150, help="real neurons and poles")
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="accepted for all benchmarks; the output is JSON anyway")
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
    print(layout(found), file=sys.stderr)
    wrong = beyond(found)
    seconds = round(time.perf_counter() - started)
    result = {"bench": "calibration", "sentences": len(sentences.sent_id), "documents": sentences.documents}
    print(json.dumps({**result, "families": found, "beyond": wrong, "seconds": seconds, "load": load()}))
    return 1 if wrong else 0


def annotate(files: list[Path], out: Path, sentences: int, k: int, seed: int) -> None:
    """Draw whole documents of each file, as many sentences of each, and run the jobs on them."""
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


def fingerprint(out: Path) -> str:
    """Return the fingerprint of a run's annotated sentences."""
    return str(json.loads((out / "run.json").read_text())["stages"]["annotate"]["fingerprint"])


def default_options() -> dict[str, Any]:
    """Return the options of `jobs.mine` as they are by default."""
    every = MineConfig.model_validate({"out": "-"}).model_dump(mode="json")
    return {name: every[name] for name in MINE_OPTIONS}


def real_winners(store: Store, sentences: SentenceStore, count: int, seed: int) -> list[Int64s]:
    """Return the rows of the winners of neurons and poles that are drawn."""
    neurons = Neurons(layer_widths(store))
    mining = Mining(sentences, neurons, default_options() | {"no_scores": True}, seed, draws=False)
    _, winners = mining.winners(store, 0, len(neurons))
    chosen = np.random.default_rng([seed, 1]).choice(len(winners), min(count, len(winners)), replace=False)
    return [winners.items[winners.offsets[i] : winners.offsets[i + 1]].astype(np.int64) for i in np.sort(chosen)]


def calibrate(
    sentences: SentenceStore, real: list[Int64s], sets: int, k: int, seed: int, **options: Any
) -> dict[str, dict[str, Any]]:
    """Return what is found in random sets and in real winners, for each family of tests.

    Args:
        sentences: all that are annotated; random sets are drawn from them.
        real: the rows of the winners of real neurons and poles.
        sets: random sets of each way.
        k: sentences of a random set.
        seed: of all draws.
        options: of `jobs.mine`, where they are others than by default.
    """
    documents = np.asarray(sentences.doc)
    ways = {
        "uniform": partial(uniform_set, len(documents), k),
        "mild": partial(document_set, documents, k, MILD),
        "few": partial(few_documents_set, documents, k, FEW),
    }
    given = default_options() | {"no_scores": not has_excess()} | options
    found: dict[str, dict[str, Any]] = {}
    for number, (way, drawn) in enumerate(ways.items()):
        random = np.random.default_rng([seed, 2, number])
        own = [drawn(random) for _ in range(sets)]
        for name, findings in mined(sentences, own, given, seed).items():
            hits = len(np.unique(findings.owner[findings.sure]))
            by_sentence = len(np.unique(findings.owner[findings.sure_by_sentence]))
            low, high = wilson(hits / sets, sets, Z99)
            rates = {"share": hits / sets, "low": low, "high": high, "by_sentence": by_sentence / sets}
            found.setdefault(name, {})[way] = rates
    for name, findings in mined(sentences, real, given, seed).items():
        before = findings.sure_by_sentence & findings.preferred
        found.setdefault(name, {})["real"] = {
            "share": len(np.unique(findings.owner[findings.sure])) / len(real),
            "by_sentence": len(np.unique(findings.owner[findings.sure_by_sentence])) / len(real),
            "findings": int((findings.sure & findings.preferred).sum()),
            "findings_by_sentence": int(before.sum()),
            "kept": int((findings.sure & before).sum()),
        }
    return found


@dataclass(frozen=True)
class Findings:
    """The rows of one family of tests, of all sets.

    Attributes:
        owner: the set, `[rows]`.
        sure: whether q is below the rate.
        sure_by_sentence: the same without design effects.
        preferred: whether the lift is above 1.
    """

    owner: Int64s
    sure: Bools
    sure_by_sentence: Bools
    preferred: Bools


def mined(sentences: SentenceStore, sets: list[Int64s], options: dict[str, Any], seed: int) -> dict[str, Findings]:
    """Mine sets of sentences as winners, with and without design effects, and return what each family finds."""
    with_effects = families(sentences, sets, options, seed)
    with (
        patch("ops.mine.pattern_rows.design_effects", no_effect),
        patch("ops.mine.profile_rows.design_effects", no_effect),
        patch("ops.mine.profile_rows.expected_effects", no_effect),
    ):
        without = families(sentences, sets, options, seed)
    return {
        name: Findings(owner, q < RATE, without[name][1] < RATE, lift > 1)
        for name, (owner, q, lift) in with_effects.items()
    }


def no_effect(count: Any, *rest: Any) -> Float64s:
    """Stand in for a design effect: 1 everywhere."""
    return np.ones(np.shape(count))


Rows = tuple[Int64s, Float64s, Float64s]  # of each row its set, q and lift


def families(sentences: SentenceStore, sets: list[Int64s], options: dict[str, Any], seed: int) -> dict[str, Rows]:
    """Return the rows of each family of tests, what is over whole descriptions last."""
    parts: dict[str, list[Rows]] = {}
    for first in range(0, len(sets), AT_ONCE):
        for table, rows in tables_of(sentences, sets[first : first + AT_ONCE], options, seed):
            owner = len(POLES) * rows["unit"].to_numpy().astype(np.int64) + positions(rows["pole"]) + first
            if table == "scores":
                low = rows["auc_excess_low"].to_numpy()
                parts.setdefault(EXCESS, []).append((owner, np.where(low > 0, 0.0, 1.0), np.full(len(owner), 2.0)))
            if table not in FAMILIES:
                continue
            names = rows[FAMILIES[table]].to_numpy()
            q, lift = (rows[name].to_numpy().astype(np.float64) for name in ("q_value", "lift"))
            for name in np.unique(names):
                own = names == name
                parts.setdefault(f"{table} {name}", []).append((owner[own], q[own], lift[own]))
    found: dict[str, Rows] = {}
    for name, several in sorted(parts.items()):
        found[name] = concatenated(several)
    tested = {name: rows for name, rows in found.items() if name != EXCESS}
    owner, q, lift = concatenated(list(tested.values()))
    family = np.repeat(list(tested), [len(rows[0]) for rows in tested.values()])
    return {**found, ANY: (owner, description_rates(q, family, owner), lift)}


def concatenated(parts: list[Rows]) -> Rows:
    """Return the rows of all parts, one part after the other."""
    owner, q, lift = (np.concatenate(column) for column in zip(*parts, strict=True))
    return owner, q, lift


def positions(poles: pa.ChunkedArray) -> Int64s:
    """Return the place in `POLES` of each pole."""
    return np.array([POLES.index(pole) for pole in poles.to_pylist()], np.int64)


def tables_of(
    sentences: SentenceStore, sets: list[Int64s], options: dict[str, Any], seed: int
) -> Iterator[tuple[str, pa.Table]]:
    """Return each table that `jobs.mine` writes of these sets, set i as the neuron and pole of that number."""
    mining = Mining(sentences, Neurons((len(sets),)), options, seed)
    number = np.arange(len(sets))
    lengths = np.cumsum([0, *map(len, sets)], dtype=np.int64)
    winners = Sequences(np.concatenate(sets).astype(np.int32), lengths)
    candidates = mining.candidates(number, winners)
    parts = mining.baseline_rows(0, len(sentences.sent_id))
    totals = baseline_table(counters(unite([candidates]), mining.kinds), Profiler(mining.text), parts)
    for table, groups in RangeTables(mining, totals).of(candidates, number, winners):
        several = list(groups)
        if several:
            yield table, pa.concat_tables(several)


def has_excess() -> bool:
    """Tell whether `scores/` has an interval of what the area is above that of a matched set."""
    return "auc_excess_low" in schema("scores").names


def beyond(found: dict[str, dict[str, Any]]) -> list[str]:
    """Return the families and ways whose interval lies above the limit."""
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
