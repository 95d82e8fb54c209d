"""Counts the verdicts of sets of winners that have nothing in common, and of planted sets whose F1 is known.

Used by `python -m bench calibration`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from bench.explained_sets import CARD_LITERALS, ExplainedSets, MinedRun
from bench.mined_calibration import Z99
from jobs.audit.job import AuditConfig
from jobs.audit.steps import audited_datasets, winners_table
from ops.arrays import Int32s, Int64s, Integers
from ops.audit import audit_rows
from ops.audit.audit_rows import neuron_row
from ops.audit.audited_division import AuditedDivision, RangeWinners
from ops.audit.audited_neurons import read_dataset_winners
from ops.audit.divisions import Division
from ops.errors import InputError
from ops.explain.verdict import Evidence
from ops.mine.held_out_sets import Matcher
from ops.mine.null_sets import uniform_set
from ops.schema.verdicts import RULE, TENDENCY, VERDICTS
from ops.statistics.interval import wilson
from ops.topk.neurons import neuron_and_pole

UNIFORM, MATCHED, DOCUMENTS, MATCHED_DOCUMENTS = WAYS = (
    "uniform", "matched", "whole documents", "matched whole documents"
)  # fmt: skip
# The most that chance may give, for each way: a rule, and a rule or a tendency.
MOST_RULES = {UNIFORM: 0.002, MATCHED: 0.002, DOCUMENTS: 0.01, MATCHED_DOCUMENTS: 0.01}
MOST_FINDINGS = 0.05
AUDITED_WAYS = (MATCHED, MATCHED_DOCUMENTS)  # each data set has as many of the winners as of a neuron's
PLANTED_F1 = (0.08, 0.15, 0.3)
_NULL, _PLANTED, _REAL = 1, 2, 6  # of the draws


def null_verdicts(run: MinedRun, sets: int, seed: int) -> tuple[dict[str, Any], float]:
    """Return the verdicts of random sets as large as a neuron's set of winners, for each way of `WAYS`.

    Args:
        run: the run.
        sets: number of sets of each way, at least 1; a third as many of whole documents.
        seed: the seed of the draws.

    Returns:
        The verdicts, and the share of as many real neurons and poles of whose winners something is typical.
    """
    explainer, found = ExplainedSets(run), {}
    real = [rows.astype(np.int64) for rows in run.winners(sets, np.random.default_rng([seed, _REAL])).rows.to_arrays()]
    drawing = NullSets(run, real, seed)
    for way in WAYS:
        drawn = drawing.draw(way, -(-sets // 3) if "documents" in way else sets)
        found[way] = counted(way, evidence_of(run, explainer, drawn), explainer.typical(drawn))
    return found, float(np.mean(np.array(explainer.typical(real)) > 0))


class NullSets:
    """Draws random sets of sentences of the baseline.

    Args:
        run: the run.
        real: the rows of sets of real winners; each in turn is what a random set is matched to.
        seed: the seed of the draws.
    """

    def __init__(self, run: MinedRun, real: Sequence[Integers], seed: int) -> None:
        self._run, self._real, self._seed = run, real, seed
        documents = np.asarray(run.sentences.doc)[run.baseline]
        order = np.argsort(documents, kind="stable")
        self._documents = np.split(run.baseline[order], np.flatnonzero(np.diff(documents[order])) + 1)
        sentences = run.sentences
        self._matcher = Matcher(run.baseline, np.asarray(sentences.dataset), sentences.lengths, sentences.longest)

    def draw(self, way: str, count: int) -> list[Int64s]:
        """Return `count` sets that are drawn in one of `WAYS`, each with ascending rows.

        - `uniform`: sentences are drawn uniformly.
        - `matched`: sentences are drawn that match real winners in data set and length.
        - `whole documents`: documents are drawn until they have enough sentences; only the last one is cut.
        - `matched whole documents`: the same in each data set, until it has as many sentences as among real winners.
        """
        random = np.random.default_rng([self._seed, _NULL, WAYS.index(way)])
        rows, k = self._run.baseline, self._run.scored.k
        if way == UNIFORM:
            return [rows[uniform_set(len(rows), k, random)] for _ in range(count)]
        if way == DOCUMENTS:
            return [
                self._whole(np.zeros(len(self._run.sentences.doc), np.int32), np.array([k]), random)
                for _ in range(count)
            ]
        winners = [self._real[number % len(self._real)] for number in range(count)]
        if way == MATCHED:
            return [self._matcher.draw(own, self._seed, number) for number, own in enumerate(winners)]
        dataset = np.asarray(self._run.sentences.dataset)
        return [self._whole(dataset, np.bincount(dataset[own]), random) for own in winners]

    def _whole(self, group: Int32s, wanted: Int64s, random: np.random.Generator) -> Int64s:
        """Draw whole documents until each group of sentences has as many as are wanted, and cut the last ones."""
        missing = wanted.copy()
        rows: list[Int64s] = []
        for document in random.permutation(len(self._documents)).tolist():
            own = self._documents[document]
            code = group[own[0]]
            if code < len(missing) and missing[code]:
                rows.append(own[: missing[code]])
                missing[code] -= len(rows[-1])
            if not missing.any():
                break
        return np.sort(np.concatenate(rows))


def planted_verdicts(run: MinedRun, sets: int, seed: int) -> dict[str, dict[str, int]]:
    """Return how many planted sets have each verdict, for each F1.

    The winners of a planted set are sentences with a word, and others drawn uniformly from the sentences without it. As
    many have the word as give the rule "with this word" the wanted F1. Words are drawn from those of the pool that
    between half as many and twice as many baseline sentences as there are winners have.

    Args:
        run: the run. Its baseline should be all of its sentences: F1 is that of the baseline.
        sets: number of sets for each F1.
        seed: the seed of the draws.
    """
    explainer, found = ExplainedSets(run), {}
    for level in PLANTED_F1:
        drawn = planted_sets(run, level, sets, np.random.default_rng([seed, _PLANTED, round(1_000 * level)]))
        found[f"F1 of {level:g}"] = verdict_counts(evidence_of(run, explainer, drawn))
    return found


def planted_sets(run: MinedRun, level: float, count: int, random: np.random.Generator) -> list[Int64s]:
    """Return sets of winners for each of which the rule "with this word" has an F1 of `level`, but for rounding."""
    k, rows = min(run.scored.k, len(run.baseline) // 2), run.baseline
    is_word = np.array([kind == "word" for kind in run.pool["kind"].to_pylist()])
    matrix = run.matrix[np.flatnonzero(is_word)][:, np.searchsorted(run.known, rows)]
    size = np.diff(matrix.indptr)
    # The rule cannot reach the F1 if even a set of nothing but sentences with the word is too small.
    words = np.flatnonzero((size >= k / 2) & (size <= 2 * k) & (2 * np.minimum(size, k) >= level * (size + k)))
    if not len(words):
        raise InputError(f"{run.store.uri}: no word of the pool is in about K = {k:,} sentences; use --planted 0")
    sets = []
    for word in random.choice(words, count).tolist():
        having = matrix.indices[matrix.indptr[word] : matrix.indptr[word + 1]].astype(np.int64)
        hits = round(level * (len(having) + k) / 2)
        lacking = np.setdiff1d(np.arange(len(rows)), having)
        parts = random.choice(having, hits, replace=False), random.choice(lacking, k - hits, replace=False)
        sets.append(rows[np.sort(np.concatenate(parts))])
    return sets


def evidence_of(run: MinedRun, explainer: ExplainedSets, sets: Sequence[Int64s]) -> list[Evidence]:
    """Return what the verdicts of sets that are no neuron's compare."""
    return [one.evidence for one in explainer.assess(sets, run.other_numbers(len(sets)), scores=True)]


def verdict_counts(evidence: Sequence[Evidence]) -> dict[str, int]:
    """Return how many sets have each verdict."""
    verdicts = [one.verdict() for one in evidence]
    return {name: verdicts.count(name) for name in VERDICTS}


def counted(way: str, evidence: Sequence[Evidence], typical: Sequence[int]) -> dict[str, Any]:
    """Return the verdicts of the sets of a way, and the shares that have a limit.

    `rules`, `findings` (a rule or a tendency) and `typical` (something is typical) are numbers of sets, `..._low` the
    lower end of the 99 % interval of their share, and `most_...` the share that is allowed.

    Args:
        way: how the sets were drawn.
        evidence: what the verdict of each set compares.
        typical: the number of entries of *Typically* of each set.
    """
    sets, verdicts = len(evidence), verdict_counts(evidence)
    return {
        "sets": sets,
        "verdicts": verdicts,
        "highest_f1": float(np.nanmax([one.f1.value for one in evidence])),
        **share("rules", verdicts[RULE], sets, MOST_RULES[way]),
        **share("findings", verdicts[RULE] + verdicts[TENDENCY], sets, MOST_FINDINGS),
        **share("typical", int(np.count_nonzero(typical)), sets, MOST_FINDINGS),
    }


def share(name: str, count: int, sets: int, most: float) -> dict[str, float]:
    """Return a number of sets, the lower end of the 99 % interval of its share, and the share that is allowed."""
    return {name: count, f"{name}_low": wilson(count / sets, sets, Z99).low, f"most_{name}": most}


def is_beyond(found: dict[str, Any]) -> bool:
    """Return whether an interval lies above what is allowed."""
    return any(found[f"{name}_low"] > found[f"most_{name}"] for name in found if f"most_{name}" in found)


def null_audits(run: MinedRun, sets: int, seed: int) -> dict[str, Any]:
    """Return the audit's verdicts of random sets, for each way of `AUDITED_WAYS`.

    `found` is the number of sets in which something was found in a data set: `local` or `global`.

    Args:
        run: the run.
        sets: number of sets of each way, at least 1.
        seed: the seed of the draws.

    Raises:
        InputError: the run has fewer than two data sets that can be compared.
    """
    datasets, sentences = audited_datasets(run.store.uri, run.reader), run.sentences
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
    table = winners_table(datasets)
    real = read_dataset_winners(run.store, run.neurons, sentences, some, table, division.of_row, most)
    drawing = NullSets(run, [rows for _, rows in real if len(rows)], seed)
    found = {}
    for way in AUDITED_WAYS:
        verdicts = [_audit(audited, *one) for one in enumerate(drawing.draw(way, sets))]
        counts = {name: verdicts.count(name) for name in audit_rows.VERDICTS}
        found_in = counts[audit_rows.LOCAL] + counts[audit_rows.GLOBAL]
        found[way] = {"sets": sets, "verdicts": counts, **share("found", found_in, sets, MOST_FINDINGS)}
    return found


def _audit(audited: AuditedDivision, number: int, rows: Int64s) -> str:
    """Return the verdict of a random set, with whose winners no activation goes together."""
    with threadpool_limits(1):
        winners = audited.winners(rows)
        row = neuron_row(audited.precisions(number, winners), audited.division, winners, {"eta_squared": 0.0}, False)
    return str(row["verdict"])
