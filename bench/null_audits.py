"""Counts the audit's verdicts of sets of winners that have nothing in common within any data set.

Used by `python -m bench calibration`.
"""

from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from bench.explained_sets import CARD_LITERALS, MinedRun
from bench.null_verdicts import MATCHED, MATCHED_DOCUMENTS, NullSets, share
from jobs.audit.job import AuditConfig
from jobs.audit.steps import audited_datasets
from jobs.run_folder.run import RunReader
from ops.arrays import Int64s
from ops.audit.across_datasets import GLOBAL, LOCAL, VERDICTS
from ops.audit.audit_rows import neuron_row
from ops.audit.audited_division import AuditedDivision, RangeWinners
from ops.audit.dataset_winners import read_dataset_winners
from ops.audit.divisions import Division
from ops.topk.neurons import neuron_and_pole

AUDITED_WAYS = (MATCHED, MATCHED_DOCUMENTS)  # each data set has as many of the winners as of a neuron's
MOST_FOUND = 0.05


def null_audits(run: MinedRun, out: str, sets: int, seed: int) -> dict[str, Any]:
    """Return the audit's verdicts of random sets, for each way of `AUDITED_WAYS`.

    `found` is the number of sets in which something was found in a data set: `local` or `global`.

    Args:
        run: the run.
        out: its folder.
        sets: number of sets of each way, at least 1.
        seed: the seed of the draws.

    Raises:
        InputError: the run has fewer than two data sets that can be compared.
    """
    datasets, sentences = audited_datasets(out, RunReader(out, create=False)), run.sentences
    division = Division.by_dataset(
        np.asarray(sentences.dataset), list(sentences.names["dataset"]), datasets.names, datasets.sizes
    )
    of_winners = RangeWinners(run.literals)
    of_winners.load(run.baseline)
    matrix = run.matrix[:, np.searchsorted(run.known, run.baseline)]
    given = (sentences, run.literals, of_winners, CARD_LITERALS, run.seed)
    audited = AuditedDivision(division, run.baseline, matrix, *given)
    some = np.unique(neuron_and_pole(run.winners(sets, np.random.default_rng(seed)).number)[0])
    most = AuditConfig.model_fields["winners"].default
    real = read_dataset_winners(run.store, run.neurons, sentences, some, datasets.table, division.of_row, most)
    drawing = NullSets(run, [rows for _, rows in real], seed)
    return {
        way: _counted([_verdict(audited, *one) for one in enumerate(drawing.draw(way, sets))]) for way in AUDITED_WAYS
    }


def _verdict(audited: AuditedDivision, number: int, rows: Int64s) -> str:
    """Return the verdict of a random set, with whose winners no activation goes together."""
    with threadpool_limits(1):
        winners = audited.winners(rows)
        row = neuron_row(audited.precisions(number, winners), audited.division, winners, {"eta_squared": 0.0}, False)
    return str(row["verdict"])


def _counted(verdicts: list[str]) -> dict[str, Any]:
    found = sum(verdict in (LOCAL, GLOBAL) for verdict in verdicts)
    counts = {name: verdicts.count(name) for name in VERDICTS}
    return {"sets": len(verdicts), "verdicts": counts, **share("found", found, len(verdicts), MOST_FOUND)}
