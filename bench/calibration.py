"""Measures how often chance alone gives a finding, with random sets of winners; prints tables and JSON.

    python -m bench calibration --data FOLDER
    python -m bench calibration --out RUN --null-sets 3000 --planted 300 --stability 4608
    python -m bench calibration --intervals 2000

With `--data`, complete documents of every corpus are scored, annotated and mined by the jobs themselves. These findings
are checked:

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
with another seed and on new documents (bench/verdict_stability.py). With `--intervals`, only intervals of areas by
document are checked, in simulations (bench/interval_coverage.py): 93 to 97 % of them should contain the truth, and 91
to 98 % if a set has 5 documents. The exit status is 1 if a limit is broken or a target of stability is missed.
"""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow.parquet as pq

from bench.explained_sets import MinedRun
from bench.harness import Result, temporary_folder
from bench.interval_coverage import coverage_rows
from bench.interval_coverage import layout as coverage_layout
from bench.made_run import mining_options
from bench.mined_calibration import beyond, calibrate, layout, real_winners
from bench.null_audits import null_audits
from bench.null_verdicts import WAYS, is_beyond, null_verdicts, planted_verdicts, typical_share
from bench.running import run_job, stage_of
from bench.score_calibration import score_rows
from bench.timing import timed
from bench.verdict_stability import missed, stability
from jobs.run_folder.stages import CODES
from ops.errors import InputError
from ops.mine.mining import Mining
from ops.sentences.local_copy import open_sentences
from ops.storage.store import Store
from ops.topk.datasets import LEAST_SENTENCES
from ops.topk.neurons import Neurons

LENGTHS = 6  # number of ranges of lengths
PER_DOCUMENT = 40  # most sentences of a document
SCORED = "{null}: {sets:,} sets, auc {auc:.3f}, excess {excess:+.4f}, intervals that hold 0: {covered:.1%} "
SCORED += "({covered_low:.1%} to {covered_high:.1%}), within the targets: {ok}"

Found = tuple[dict[str, Any], list[str]]  # what is printed, and what is beyond its limit


def measure(
    data: str | None = None, out: str | None = None, sentences: int = 2_700, sets: int = 300, neurons: int = 150,
    score_sets: int = 0, null_sets: int = 300, audit_sets: int = 100, planted: int = 60,
    stability: Annotated[int, 240] = 0, intervals: Annotated[int, 2_000] = 0, no_scores: bool = False, k: int = 100,
    seed: int = 0,
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
        stability: sets whose stability is measured; 240 if no number is given.
        intervals: simulations of each setting, and nothing else is checked; 2,000 if no number is given.
        no_scores: verdicts without held-out scores, for quick trials.
        k: winners of a neuron and pole.
        seed: the seed of all draws.
    """
    counts = (null_sets, audit_sets, planted, stability)

    def check() -> Found:
        if intervals:
            return check_intervals(intervals, seed)
        with temporary_folder() as folder:
            if out:
                return check_verdicts(out, *counts, not no_scores, seed)
            run = folder / "run"
            annotate(data, run, sentences, k, seed)
            found, wrong = check_mined(run, sets, neurons, score_sets, k, seed)
            verdicts, more = check_verdicts(str(run), *counts, not no_scores, seed)
            return {**verdicts, **found}, [*wrong, *more]

    took, (found, wrong) = timed(check)
    return {**found, "beyond": wrong, "seconds": round(took.clock)}, not wrong


def check_intervals(simulations: int, seed: int) -> Found:
    """Check the intervals of areas by document, for which see `measure`."""
    rows = coverage_rows(simulations, seed)
    print(coverage_layout(rows), file=sys.stderr)
    covered = sorted(row["covered"] for row in rows)
    wrong = [f"intervals: {row['setting']}, area {row['area']:.2f}" for row in rows if not row["ok"]]
    return {"simulations": simulations, "settings": len(rows), "covered": [covered[0], covered[-1]]}, wrong


def check_mined(out: Path, sets: int, neurons: int, score_sets: int, k: int, seed: int) -> Found:
    """Check findings and scores, for which see `measure`."""
    store = Store(str(out))
    annotated = open_sentences(store, CODES, stage_of("annotate", out)["fingerprint"])
    families = calibrate(annotated, real_winners(store, annotated, neurons, seed), sets, k, seed)
    mining = Mining(annotated, Neurons((1,)), mining_options(no_scores=False), seed)
    scored = score_rows(mining, k, score_sets, score_sets // 5, LENGTHS, seed)
    print(layout(families), *(SCORED.format(**row) for row in scored), sep="\n", file=sys.stderr)
    wrong = [*beyond(families), *(f"scores of {row['null']}" for row in scored if not row["ok"])]
    return {"families": families, "scores": scored}, wrong


def check_verdicts(
    out: str, null_sets: int, audit_sets: int, planted_sets: int, stable_sets: int, scores: bool, seed: int
) -> Found:
    """Check the verdicts of a run: of random sets, of planted sets, and with `--stability` those of its neurons."""
    run, few = MinedRun.open(out), -(-null_sets // 3)
    sets = {way: few if "documents" in way else null_sets for way in WAYS if null_sets}
    nulls = null_verdicts(run, sets, seed, scores)
    planted = planted_verdicts(run, planted_sets, seed, scores) if planted_sets else {}
    audits: dict[str, Any] = {}
    try:
        audits = null_audits(run, out, audit_sets, seed) if audit_sets else {}
    except InputError as error:
        print(f"no random sets are audited: {error}", file=sys.stderr)
    counts = planted | {way: own["verdicts"] for way, own in nulls.items()}
    for name, verdicts in (counts | {f"audit, {way}": own["verdicts"] for way, own in audits.items()}).items():
        print(f"{name}: {', '.join(f'{count:,} {verdict}' for verdict, count in verdicts.items())}", file=sys.stderr)
    for way, null in nulls.items():
        print(f"typical, {way}: {null['typical']:,} of {null['sets']:,}", file=sys.stderr)
    wrong = [f"verdicts of {way} sets" for way, null in nulls.items() if is_beyond(null)]
    wrong += [f"audit of {way} sets" for way, null in audits.items() if is_beyond(null)]
    found: dict[str, Any] = {
        "sentences": len(run.sentences.sent_id),
        "documents": run.sentences.documents,
        "k": run.scored.k,
        "nulls": nulls,
        "planted": planted,
        "audits": audits,
        "typical_of_neurons": typical_share(run, null_sets, seed) if null_sets else None,
    }
    if stable_sets:
        found["stability"] = stability(run, stable_sets, seed, scores)
        wrong += [f"stability: {name}" for name in missed(found["stability"])]
    return found, wrong


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
