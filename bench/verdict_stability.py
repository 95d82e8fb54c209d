"""Measures how far verdicts depend on the documents, on their division into folds, and on the seed.

Used by `python -m bench calibration --stability`.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.explained_sets import ExplainedSets, MinedRun, fresh_f1
from ops.arrays import Bools, Float64s, Int8s, Int64s
from ops.compare.activation_vectors import layer_activations
from ops.errors import InputError
from ops.explain.rotation import rotated
from ops.schema.verdicts import RULE
from ops.sentences.folds import FOLDS
from ops.sentences.winner_sets import WinnerSets
from ops.statistics.highest import highest
from ops.topk.neurons import POLES, neuron_and_pole

BEST = 60  # number of sets with the highest F1 whose F1 is compared
LEAST_FRESH = 0.07  # F1 on new documents from which a rule counts as confirmed
# On halves of the activation sample, at least this number of winners in the sample, or this share if it is less.
LEAST_WINNERS, LEAST_SHARE = 100, 0.1
LEAST_REMAIN, LEAST_KEPT = 0.9, 0.95  # of the rules, and of the best sets' F1, with other folds
MOST_CHANGED = 0.02  # of the verdicts with another seed
LEAST_FRESH_KEPT, LEAST_CONFIRMED = 0.8, 0.7  # of the best sets' F1, and of the rules, on new documents
_SETS, _FOLDS, _DOCUMENTS = 3, 4, 5  # of the draws


def stability_of(run: MinedRun, count: int, seed: int) -> dict[str, Any]:
    """Measure the stability of the verdicts of randomly drawn neurons and poles.

    Args:
        run: the run.
        count: number of neurons and poles.
        seed: the seed of the draws, including the division of the documents into halves.

    Returns:
        `other_folds`: number of rules, how many of them are rules again (`remain`), and the best sets. `other_seed`:
        number of sets, how many verdicts change, and which. `neurons` and `rotated`: see `new_documents`.
    """
    if not run.scored.sampled:
        raise InputError(f"{run.store.uri}: the run has no activation sample, which stability needs on new documents")
    sets = run.winners(count, np.random.default_rng([seed, _SETS]))
    verdicts, f1 = said(ExplainedSets(run), sets, scores=True)
    refolded, f1_refolded = said(ExplainedSets(run, fold=other_folds(run, seed)), sets, scores=False)
    reseeded, _ = said(ExplainedSets(run, seed=run.seed + 1), sets, scores=True)
    changes = Counter(f"{one} to {other}" for one, other in zip(verdicts, reseeded, strict=True) if one != other)
    return {
        "other_folds": {
            "rules": int((verdicts == RULE).sum()),
            "remain": int(((verdicts == RULE) & (refolded == RULE)).sum()),
            **best_sets(f1, f1_refolded),
        },
        "other_seed": {"sets": len(verdicts), "changed": changes.total(), "changes": dict(changes.most_common())},
        "neurons": new_documents(run, sets.number, seed, of_axes=False),
        "rotated": new_documents(run, sets.number, seed, of_axes=True),
    }


def missed(found: dict[str, Any]) -> list[str]:
    """Return the names of the targets that are missed, given what `stability_of` returns."""
    folds, seed, neurons = found["other_folds"], found["other_seed"], found["neurons"]
    wrong = {
        "other folds: rules that remain": folds["remain"] < LEAST_REMAIN * folds["rules"],
        "other folds: F1 of the best": folds["best"]["again"] < LEAST_KEPT * folds["best"]["f1"],
        "another seed: changed verdicts": seed["changed"] > MOST_CHANGED * seed["sets"],
        "new documents: F1 of the best": neurons["best"]["again"] < LEAST_FRESH_KEPT * neurons["best"]["f1"],
        "new documents: confirmed rules": neurons["confirmed"] < LEAST_CONFIRMED * neurons["rules"],
    }
    return [name for name, is_missed in wrong.items() if is_missed]


def said(explainer: ExplainedSets, sets: WinnerSets, scores: bool) -> tuple[Any, Float64s]:
    """Return the verdict and the F1 of each set of winners, `[sets]` each."""
    rows = [own.astype(np.int64) for own in sets.rows.to_arrays()]
    evidence = [one.evidence for one in explainer.assess(rows, sets.number, scores)]
    return np.array([one.verdict() for one in evidence]), np.array([one.f1.value for one in evidence])


def best_sets(f1: Float64s, again: Float64s) -> dict[str, dict[str, float]]:
    """Return the mean F1 of the best 60 sets and of the best quarter, and their mean F1 when it is measured again."""
    order = np.argsort(-np.nan_to_num(f1), kind="stable")
    both = np.nan_to_num([f1, again])
    return {
        name: {"sets": len(order[:count]), **dict(zip(("f1", "again"), both[:, order[:count]].mean(1), strict=True))}
        for name, count in (("best", BEST), ("best_quarter", len(f1) // 4))
    }


def other_folds(run: MinedRun, seed: int) -> Int8s:
    """Draw another division of the documents into folds; return the fold of every sentence, `[sentences]`."""
    documents = np.random.default_rng([seed, _FOLDS]).integers(FOLDS, size=run.sentences.documents)
    return np.asarray(documents.astype(np.int8)[np.asarray(run.sentences.doc)])


def new_documents(run: MinedRun, numbers: Int64s, seed: int, of_axes: bool) -> dict[str, Any]:
    """Publish cards on one half of the documents of the activation sample, and test them on the other half.

    On both halves the same share of the sentences are winners: K / N, or a larger share if the sample would have fewer
    than `LEAST_WINNERS`. The pool of literals is that of the complete run. All else is learned from the first half.

    Args:
        run: the run.
        numbers: the numbers of neurons and poles, ascending.
        seed: the seed of the halves.
        of_axes: whether the units are replaced by axes of a random rotation of their layer.

    Returns:
        The number of sets and of rules, and the mean F1 of the rules on their own half (`f1`) and of their published
        cards on the other half (`fresh_f1`), None without rules. `confirmed` rules have an F1 of at least `LEAST_FRESH`
        on the other half. `rules_held` is the number of rules whose interval of F1 contains the F1 on the other half;
        of all sets, `intervals` have an interval, and `held` hold it.
    """
    rows = run.sampled
    is_seen = np.random.default_rng([seed, _DOCUMENTS]).random(run.sentences.documents) < 0.5
    seen = is_seen[np.asarray(run.sentences.doc)[rows]]
    winners = max(run.scored.k / run.scored.sentences, min(LEAST_WINNERS / len(rows), LEAST_SHARE))
    halves = [_tops(run, numbers, half, winners, of_axes) for half in (seen, ~seen)]
    assessed = ExplainedSets(run, rows[seen]).assess(list(halves[0]), numbers)
    measured = [
        (*one.evidence.f1.interval(), one.evidence.is_rule(), fresh_f1(run, one, rows[~seen], fresh))
        for one, fresh in zip(assessed, halves[1], strict=True)
    ]
    f1, low, high, rule, again = np.array(measured, np.float64).T
    is_rule, holds = rule > 0, (low <= again) & (again <= high)
    return {
        "sets": len(f1),
        "rules": int(is_rule.sum()),
        "f1": _mean(f1[is_rule]),
        "fresh_f1": _mean(again[is_rule]),
        "confirmed": int((again[is_rule] >= LEAST_FRESH).sum()),
        **best_sets(f1, again),
        "rules_held": int(holds[is_rule].sum()),
        "intervals": int(np.count_nonzero(~np.isnan(low))),
        "held": int(holds.sum()),
    }


def _tops(run: MinedRun, numbers: Int64s, among: Bools, share: float, of_axes: bool) -> Iterator[Int64s]:
    """Yield the rows of the winners of each set among some sentences of the activation sample, ascending.

    Args:
        run, numbers, of_axes: see `new_documents`.
        among: which sentences of the sample compete, `[n]`.
        share: how many of them are winners, as a share.
    """
    neuron, pole = neuron_and_pole(numbers)
    layer, unit = run.neurons.layer_and_unit(neuron)
    rows, size = run.sampled[among], round(share * np.count_nonzero(among))
    for one in np.unique(layer).tolist():
        own, activations = np.flatnonzero(layer == one), layer_activations(run.store, one)
        low, high = int(unit[own].min()), int(unit[own].max()) + 1
        values = rotated(activations, one, run.seed, low, high) if of_axes else activations[:, low:high]
        for place in own.tolist():
            sign = 1 if POLES[pole[place]] == "top" else -1
            yield rows[np.sort(highest(sign * values[None, among, unit[place] - low], size)[0])]


def _mean(values: Float64s) -> float | None:
    return float(values.mean()) if len(values) else None
