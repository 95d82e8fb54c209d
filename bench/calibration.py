"""Measures how often chance alone gives a finding, with random sets of winners; prints tables and JSON.

    python -m bench calibration --data FOLDER
    python -m bench calibration --out RUN --null-sets 3000 --planted 300 --stability 4608

With `--data`, complete documents of every corpus are scored, annotated, mined and read token by token by the jobs
themselves. These findings are checked:

- Findings of `mine` (bench/mined_calibration.py). Random sets as large as a neuron's set of winners are mined like
  winners. They are drawn uniformly, with a part of their score shared by document (`mild`), or from few documents
  (`few`). For each family of tests, the table reports the share of sets in which any test has q below 0.05, next to the
  same share without design effects. It reports the same for the winners of real neurons, with the share of findings (q
  below 0.05, lift above 1) that remain when design effects are applied. A limit is broken if the 99 % interval of a
  share is above 7 % (uniform, mild) or 10 % (few).
- With `--score-sets`, the held-out scores of uniform sets and of sets with one range of lengths
  (bench/score_calibration.py).
- Verdicts of `explain` (bench/null_verdicts.py): those of random sets and of planted sets, whose F1 is known. Of the
  random sets, 0.2 % (uniform, matched to real winners) or 1 % (whole documents) may be a rule, and 5 % a rule or a
  tendency. Something may be typical (the column `typical`) of 5 % of the sets of each way.
- Verdicts of `audit` (bench/null_audits.py): something may be found in a data set in 5 % of the random sets. This is
  left out if the run has fewer than two data sets that can be compared.

With `--out`, a finished run of any corpus takes the place of `--data`. It must have been mined, and only verdicts are
checked. With `--stability`, the benchmark also measures whether the verdicts of real neurons remain with other folds,
with another seed and on new documents (bench/verdict_stability.py). The exit status is 1 if a limit is broken or a
target of stability is missed.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from bench.explained_sets import MinedRun
from bench.mine import mining_options
from bench.mined_calibration import beyond, calibrate, layout, real_winners
from bench.null_audits import AuditNull, null_audits
from bench.null_verdicts import WAYS, null_verdicts, planted_verdicts, typical_share
from bench.running import load, run_job
from bench.score_calibration import score_rows
from bench.verdict_stability import stability
from jobs.run_folder.stages import CODES
from ops.errors import InputError
from ops.mine.mining import Mining
from ops.sentences.local_copy import open_sentences
from ops.storage.store import Store
from ops.topk.datasets import LEAST_SENTENCES
from ops.topk.neurons import Neurons

LENGTHS = 6  # number of ranges of lengths
PER_DOCUMENT = 40  # most sentences of a document


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench calibration", description=str(__doc__).splitlines()[0])
    parser.add_argument("--data", help="folder of Parquet files (text, doc_id); default: corpora/ in ATLAS_TEST_DATA")
    parser.add_argument("--out", help="a mined run in place of --data, whose verdicts alone are checked")
    parser.add_argument("--sentences", type=int, default=2_700)
    parser.add_argument("--sets", type=int, default=300, help="random sets of each way that are mined")
    parser.add_argument("--neurons", type=int, default=150, help="real neurons and poles that are mined")
    parser.add_argument(
        "--score-sets", type=int, default=0, help="uniform sets that are scored; a fifth of each length"
    )
    parser.add_argument(
        "--null-sets", type=int, default=300, help="random sets with a verdict; a third as many of whole documents"
    )
    parser.add_argument("--audit-sets", type=int, default=100, help="random sets of each way that are audited")
    parser.add_argument("--planted", type=int, default=60, help="planted sets of each F1")
    parser.add_argument(
        "--stability", type=int, nargs="?", const=240, default=0, help="measure stability, by default of 240 sets"
    )
    parser.add_argument("--no-scores", action="store_true", help="verdicts without held-out scores, for quick trials")
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="accepted by all benchmarks; this one always prints JSON")
    options = parser.parse_args()
    started = time.perf_counter()
    try:
        with tempfile.TemporaryDirectory(prefix="atlas-bench-") as folder:
            os.environ["ATLAS_CACHE"] = f"{folder}/cache"
            found, wrong = (
                check_verdicts(options.out, options) if options.out else check_all(Path(folder) / "run", options)
            )
    except InputError as error:
        print(f"error: bench calibration: {error}", file=sys.stderr)
        return 2
    seconds = round(time.perf_counter() - started)
    print(json.dumps({"bench": "calibration", **found, "beyond": wrong, "seconds": seconds, "load": load()}))
    return 1 if wrong else 0


Found = tuple[dict[str, Any], list[str]]  # what is printed, and what is beyond its limit


def check_all(out: Path, options: argparse.Namespace) -> Found:
    """Make a run in the folder `out`, and check everything that it shows."""
    data = Path(options.data or os.path.join(os.environ.get("ATLAS_TEST_DATA", ""), "corpora"))
    files = sorted(data.glob("*.parquet"))
    if not files:
        raise InputError(f"{data} has no Parquet file; name a folder by --data, or a run by --out")
    annotate(files, out, options.sentences, options.k, options.seed)
    sentences = open_sentences(Store(str(out)), CODES, fingerprint(out))
    real = real_winners(Store(str(out)), sentences, options.neurons, options.seed)
    families = calibrate(sentences, real, options.sets, options.k, options.seed)
    mining = Mining(sentences, Neurons((1,)), mining_options(no_scores=False), options.seed)
    scored = score_rows(mining, options.k, options.score_sets, options.score_sets // 5, LENGTHS, options.seed)
    print(layout(families), file=sys.stderr)
    for row in scored:
        print(
            f"{row.null}: {row.sets:,} sets, auc {row.auc:.3f}, excess {row.excess:+.4f}, intervals that hold 0: "
            f"{row.covered:.1%} ({row.covered_low:.1%} to {row.covered_high:.1%}){'' if row.ok else ', beyond'}",
            file=sys.stderr,
        )
    found, wrong = check_verdicts(str(out), options)
    wrong = [*beyond(families), *(f"scores of {row.null}" for row in scored if not row.ok), *wrong]
    return {**found, "families": families, "scores": [asdict(row) for row in scored]}, wrong


def check_verdicts(out: str, options: argparse.Namespace) -> Found:
    """Check the verdicts of a run: of random sets, of planted sets, and with `--stability` those of its neurons."""
    run, scores = MinedRun.open(out), not options.no_scores
    few = -(-options.null_sets // 3)
    sets = {way: few if "documents" in way else options.null_sets for way in WAYS if options.null_sets}
    nulls = null_verdicts(run, sets, options.seed, scores)
    planted = planted_verdicts(run, options.planted, options.seed, scores) if options.planted else {}
    audits: dict[str, AuditNull] = {}
    try:
        if options.audit_sets:
            audits = null_audits(run, out, options.audit_sets, options.seed)
    except InputError as error:
        print(f"no random sets are audited: {error}", file=sys.stderr)
    counts = {way: null.verdicts for way, null in nulls.items()} | planted
    for name, verdicts in [*counts.items(), *((f"audit, {way}", null.verdicts) for way, null in audits.items())]:
        print(f"{name}: {', '.join(f'{count:,} {verdict}' for verdict, count in verdicts.items())}", file=sys.stderr)
    for way, null in nulls.items():
        print(f"typical, {way}: {null.typical:,} of {null.sets:,}", file=sys.stderr)
    wrong = [f"verdicts of {way} sets" for way, null in nulls.items() if null.is_beyond]
    wrong += [f"audit of {way} sets" for way, null in audits.items() if null.is_beyond]
    found: dict[str, Any] = {
        "sentences": len(run.sentences.sent_id), "documents": run.sentences.documents, "k": run.scored.k,
        "nulls": {way: asdict(null) for way, null in nulls.items()}, "planted": planted,
        "audits": {way: asdict(null) for way, null in audits.items()},
        "typical_of_neurons": typical_share(run, options.null_sets, options.seed) if options.null_sets else None,
    }  # fmt: skip
    if options.stability:
        measured = stability(run, options.stability, options.seed, scores)
        found["stability"] = asdict(measured)
        wrong += [f"stability: {name}" for name in measured.missed()]
    return found, wrong


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
    most = sentences // len(files) // LEAST_SENTENCES  # winners in a data set with which it can be audited
    flags += ["--k-per-dataset", str(min(most, k // 2))]
    run_job("topk", out, "--preset", "small", "--k", k, "--split", "none", *flags)
    run_job("annotate", out, "--preset", "small")
    run_job("mine", out, "--preset", "small")
    run_job("tokens", out, "--preset", "small", "--keep-partials")


def fingerprint(out: Path) -> str:
    """Return the fingerprint of a run's annotated sentences."""
    return str(json.loads((out / "run.json").read_text())["stages"]["annotate"]["fingerprint"])


if __name__ == "__main__":
    sys.exit(main())
