"""Measures how often chance alone gives a finding, with random sets of winners.

    python -m bench calibration --data FOLDER
    python -m bench calibration --out RUN --null-sets 3000 --planted 300 --stability 4608
    python -m bench calibration --intervals

With `--data`, complete documents of every corpus are scored, annotated and mined by the jobs themselves. These findings
are checked:

- Findings of `mine` (bench/mined_calibration.py). Random sets as large as a neuron's set of winners are mined like
  winners. They are drawn uniformly, with a part of their score shared by document (`mild`), or from few documents
  (`few`). For each family of tests, `families` has the share of sets in which any test has q below 0.05, next to the
  same share without design effects, and the same for the winners of real neurons, with the share of findings (q
  below 0.05, lift above 1) that remain when design effects are applied. A limit is broken if the 99 % interval of a
  share is above 7 % (uniform, mild) or 10 % (few).
- With `--score-sets`, the held-out scores of uniform sets and of sets with one range of lengths
  (bench/mined_calibration.py).
- Verdicts of `explain` (bench/null_verdicts.py): those of random sets and of planted sets, whose F1 is known. Of the
  random sets, 0.2 % (uniform, matched to real winners) or 1 % (whole documents) may be a rule, and 5 % a rule or a
  tendency. Something may be typical (the column `typical`) of 5 % of the sets of each way.
- Verdicts of `audit` (bench/null_verdicts.py): something may be found in a data set in 5 % of the random sets. This is
  left out if the run has fewer than two data sets that can be compared.

With `--out`, a finished run of any corpus takes the place of `--data`. It must have been mined, and only verdicts are
checked. With `--stability`, the benchmark also measures whether the verdicts of real neurons remain with other folds,
with another seed and on new documents (bench/verdict_stability.py). With `--intervals`, only intervals of areas by
document are checked, in simulations (bench/interval_coverage.py): 93 to 97 % of them should contain the truth, and 91
to 98 % if a set has 5 documents. The exit status is 1 if a limit is broken or a target of stability is missed.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from bench.explained_sets import MinedRun
from bench.harness import Result, temporary_folder
from bench.interval_coverage import coverage_rows
from bench.made_run import mining_options
from bench.mined_calibration import beyond_limits, calibrate, score_rows
from bench.null_verdicts import is_beyond, null_audits, null_verdicts, planted_verdicts
from bench.running import run_job
from bench.verdict_stability import missed, stability_of
from ops.errors import InputError
from ops.mine.mining import Mining
from ops.topk.datasets import LEAST_SENTENCES
from ops.topk.neurons import Neurons

LENGTHS = 6  # number of ranges of lengths
PER_DOCUMENT = 40  # most sentences of a document
SIMULATIONS = 2_000  # of each setting of --intervals

Checked = tuple[dict[str, Any], list[str]]  # what is printed, and what is beyond its limit


def measure(
    data: str | None = None, out: str | None = None, sentences: int = 2_700, sets: int = 300, neurons: int = 150,
    score_sets: int = 0, null_sets: int = 300, audit_sets: int = 100, planted: int = 60, stability: int = 0,
    intervals: bool = False, k: int = 100, seed: int = 0,
) -> Result:  # fmt: skip
    """Check everything, or the verdicts of a run.

    Args:
        data: folder of Parquet files (text, doc_id), if it is not corpora/ in ATLAS_TEST_DATA.
        out: a mined run in place of --data, of which only verdicts are checked.
        sentences: sentences of --data.
        sets: random sets of each way that are mined.
        neurons: real neurons and poles that are mined.
        score_sets: uniform sets that are scored, and a fifth of them for each length.
        null_sets: random sets with a verdict; a third as many of whole documents.
        audit_sets: random sets of each way that are audited.
        planted: planted sets of each F1.
        stability: neurons and poles whose stability is measured.
        intervals: check only intervals, in simulations.
        k: winners of a neuron and pole.
        seed: the seed of all draws.
    """
    started = time.monotonic()
    if intervals:
        found, beyond = check_intervals(seed)
    else:
        with temporary_folder() as folder:
            if not out:
                annotate(data, folder / "run", sentences, k, seed)
            run = MinedRun(out or str(folder / "run"))
            found, beyond = check_verdicts(run, null_sets, audit_sets, planted, stability, seed)
            if not out:
                of_mining, more = check_mined(run, sets, neurons, score_sets, k, seed)
                found, beyond = {**found, **of_mining}, [*more, *beyond]
    took = round(time.monotonic() - started)
    return {**found, "beyond": beyond, "within_limits": not beyond, "seconds": took}


def check_intervals(seed: int) -> Checked:
    """Check the intervals of areas by document, for which see `measure`."""
    rows = coverage_rows(SIMULATIONS, seed)
    covered = sorted(row["covered"] for row in rows)
    beyond = [f"intervals: {row['setting']}, area {row['area']:.2f}" for row in rows if not row["ok"]]
    found = {"simulations": SIMULATIONS, "settings": len(rows), "covered": [covered[0], covered[-1]], "rows": rows}
    return found, beyond


def check_mined(run: MinedRun, sets: int, neurons: int, score_sets: int, k: int, seed: int) -> Checked:
    """Check findings and scores, for which see `measure`."""
    real = run.winners(neurons, np.random.default_rng([seed, 1])).rows.to_arrays()
    families = calibrate(run.sentences, [rows.astype(np.int64) for rows in real], sets, k, seed)
    mining = Mining(run.sentences, Neurons((1,)), mining_options(no_scores=False), seed)
    scored = score_rows(mining, k, score_sets, score_sets // 5, LENGTHS, seed)
    beyond = [*beyond_limits(families), *(f"scores of {row['null']}" for row in scored if not row["ok"])]
    return {"families": families, "scores": scored}, beyond


def check_verdicts(
    run: MinedRun, null_sets: int, audit_sets: int, planted_sets: int, stable_sets: int, seed: int
) -> Checked:
    """Check the verdicts of a run: of random sets, of planted sets, and with `--stability` those of its neurons."""
    nulls, typical = null_verdicts(run, null_sets, seed) if null_sets else ({}, None)
    audits: dict[str, Any] = {}
    try:
        audits = null_audits(run, audit_sets, seed) if audit_sets else {}
    except InputError as error:
        print(f"no random sets are audited: {error}", file=sys.stderr)
    beyond = [f"verdicts of {way} sets" for way, null in nulls.items() if is_beyond(null)]
    beyond += [f"audit of {way} sets" for way, null in audits.items() if is_beyond(null)]
    found: dict[str, Any] = {
        "sentences": len(run.sentences.sent_id),
        "documents": run.sentences.documents,
        "k": run.scored.k,
        "nulls": nulls,
        "planted": planted_verdicts(run, planted_sets, seed) if planted_sets else {},
        "audits": audits,
        "typical_of_neurons": typical,
    }
    if stable_sets:
        found["stability"] = stability_of(run, stable_sets, seed)
        beyond += [f"stability: {name}" for name in missed(found["stability"])]
    return found, beyond


def annotate(data: str | None, out: Path, sentences: int, k: int, seed: int) -> None:
    """Draw complete documents, the same number of sentences from each file, and run the jobs on them."""
    folder = Path(data or os.path.join(os.environ.get("ATLAS_TEST_DATA", ""), "corpora"))
    files = sorted(folder.glob("*.parquet"))
    if not files:
        raise InputError(f"{folder} has no Parquet file; name a folder by --data, or a run by --out")
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
    flags += ["--k", str(k), "--split", "none", "--k-per-dataset", str(min(most, k // 2))]
    for stage in ("topk", "annotate", "mine"):
        run_job(stage, out, "--preset", "small", *(flags if stage == "topk" else ()))
