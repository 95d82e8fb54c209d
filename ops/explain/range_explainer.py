"""Explains ranges of neurons: computes both models, what both would find by chance, and the resulting rows."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ops import schema
from ops.arrays import Bools, Float32s, Float64s, Floats, Int32s, Int64s
from ops.explain.control_rows import range_measures
from ops.explain.controlled_units import Controls
from ops.explain.hard_negatives import hard_negatives, sample_scores
from ops.explain.held_out_scores import MEASURES
from ops.explain.kinds import KINDS
from ops.explain.literals import Literals
from ops.explain.range_model import RangeFitter, RangeModels
from ops.explain.rotation import rotated, shuffled
from ops.explain.set_explainer import Explained, Own, SetExplainer, places_among
from ops.explain.verdict import verdict
from ops.explain.wording import PatternRules, Term, evidence_needed, explanation_text
from ops.mine.held_out_sets import HeldOutSets
from ops.sampling import SAMPLE_SETS
from ops.topk.neurons import POLES, Neurons

EXAMPLES = 3  # example sentences for each literal
VALUES = pa.schema(
    [("layer", pa.int16()), ("basis", pa.string()), ("model", pa.string()), ("measure", pa.string()),
     ("value", pa.float64())]
)  # fmt: skip
RANDOM_SETS = 32  # number of random sets that all sets share, since explaining one costs as much as explaining a neuron
# The minimum number of winners in a control, and the number of sentences for each winner.
LEAST_SAMPLE_WINNERS, SAMPLE_WINNERS = 50, 100


Row = dict[str, Any]


@dataclass(frozen=True)
class Found:
    """The winners of a neuron and pole, and the literals that belong to them alone.

    Attributes:
        number: the number of the set (see `set_number`).
        winners: the winners' rows in the store, sorted by rank.
        own, names: the literals of this set alone, and the kind, pattern and items of each.
    """

    number: int
    winners: Int64s
    own: Own
    names: list[tuple[str, str, list[str]]]


@dataclass(frozen=True)
class SampleModels:
    """The models of the activation sample.

    Attributes:
        fitter: fits the range models.
        sets: explains sets of the sample's sentences, which represent the corpus.
        rows: the rows of the sample's sentences in the store, `[n]`.
        layer: a function that returns the activations of a layer, `[n, units]`.
        seed: the seed of rotations and permutations.
        most: maximum number of literals in a range model, not counting nuisance.
        rotates: whether a random rotation of a layer's units is one of the controls.
        places: the index in the sample of each known sentence (see `Own.known`), -1 for a sentence outside it,
            `[known]`.
        is_sparse: whether units are sparse features, which are 0 where they are inactive.
    """

    fitter: RangeFitter
    sets: SetExplainer
    rows: Int64s
    layer: Callable[[int], Float32s]
    seed: int
    most: int
    rotates: bool
    places: Int32s
    is_sparse: bool


class RangeExplainer:
    """Explains ranges of neurons.

    Args:
        literals: the literals of the pool.
        sets: explains sets of winners.
        sample: the models of the activation sample; None if there is no sample.
        neurons: the run's neurons.
        sent_id: the sentence id of every row of the store.
        controls: the controls to fit.
        rules: the rules by which the patterns were mined.
    """

    def __init__(
        self, literals: Literals, sets: SetExplainer, sample: SampleModels | None, neurons: Neurons, sent_id: Int64s,
        controls: Controls, rules: PatternRules,
    ) -> None:  # fmt: skip
        self.rules = rules
        self.literals, self.sets, self.sample = literals, sets, sample
        self.neurons, self.sent_id, self.controls = neurons, sent_id, controls
        self._random: dict[int, float] = {}
        self._random_of_sample: float | None = None

    def explain(self, numbers: Int64s, found: list[Found], chance: HeldOutSets) -> dict[str, pa.Table]:
        """Return the rows of some neurons: `explanations` without families, `explanation_terms`, `values`, `negatives`.

        The rows of `negatives` have the columns of `examples` and are the hard negatives of each set.

        Args:
            numbers: the numbers of the neurons, ascending.
            found: the neurons' sets of winners, in order.
            chance: draws the random sets that each set is compared with.
        """
        ranges, values = self._ranges(numbers)
        rows: list[dict[str, Any]] = []
        terms: list[dict[str, Any]] = []
        negatives: list[Row] = []
        described: set[int] = set()
        won: dict[int, list[Int64s]] = {}
        for one in found:
            won.setdefault(one.number // len(POLES), []).append(one.winners)
        for one in found:
            neuron, pole = divmod(one.number, len(POLES))
            layer, unit = (int(x[0]) for x in self.neurons.layer_and_unit(np.array([neuron])))
            key = {"layer": layer, "unit": unit, "pole": POLES[pole]}
            fitted = ranges.get(neuron, {})
            if neuron not in described:
                described.add(neuron)
                terms += [key | {"pole": None} | term for term in fitted.get("terms", [])]
            own = self.sets.explain(np.sort(one.winners), one.own)
            rows.append(key | self._winners(one, own, chance, fitted, terms, key))
            if fitted:
                chosen = self._hard_negatives(own, one, np.concatenate(won[neuron]), fitted["activations"], POLES[pole])
                negatives += [key | negative for negative in chosen]
        return {
            "explanations": schema.table("explanations", rows).drop_columns("family"),
            "explanation_terms": schema.table("explanation_terms", terms),
            "values": schema.concatenate(VALUES, values),
            "negatives": schema.table("examples", negatives),
        }

    def _hard_negatives(self, own: Explained, one: Found, won: Int64s, activations: Float32s, pole: str) -> list[Row]:
        """Return the columns of `examples` for the hard negatives of one set; none if its card has no literal.

        Args:
            own: the set's explanation.
            one: the set.
            won: the rows of the neuron's winners at both poles.
            activations: the neuron's activations in the sample, `[n]`.
            pole: the set's pole.
        """
        sample, card = self.sample, own.card
        if sample is None or not len(card.literals):
            return []
        pool = sample.sets.known.matrix.found
        scores = sample_scores(card, pool, one.own, sample.places, len(sample.rows))
        is_winner = np.isin(sample.rows, won)
        places = hard_negatives(scores, card.threshold, activations, is_winner, pole, sample.is_sparse)
        return [
            {"rank": rank, "sent_id": int(self.sent_id[sample.rows[place]]), "activation": float(activations[place])}
            for rank, place in enumerate(places.tolist(), 1)
        ]

    def _winners(
        self, one: Found, own: Explained, chance: HeldOutSets, fitted: dict[str, Any], terms: list[Row], key: Row
    ) -> Row:
        """Return the columns of `explanations` for one set, and append the literals of its card to `terms`."""
        winners, scores = np.sort(one.winners), own.scores
        others = {
            "matched_f1": self._chance_f1(chance.matched(winners, one.number)),
            "random_f1": self._random_f1(one, chance),
        }
        told = _verdict(own, **others)
        card = self._card_terms(own, one)
        terms += [key | term for term in card]
        r2 = fitted.get("r2", {})
        said = [
            Term(t["kind"], t["pattern"], t["items"], t["negated"], t["weight"], t["share"], t["baseline_share"])
            for t in card
        ]
        text = explanation_text(
            told, said, scores.share, scores.baseline_share, r2.get("r2"), r2.get("r2_nuisance"),
            needed=evidence_needed(own.card.weights.tolist(), own.card.intercept, own.card.threshold), rules=self.rules,
        )  # fmt: skip
        measured = {f"{m}{end}": getattr(scores, f"{m}{end}") for m in MEASURES for end in ("", "_low", "_high")}
        return {
            "text": text,
            "literals": len(own.card.literals),
            **measured,
            "auc": scores.auc,
            "nuisance_f1": own.nuisance_f1,
            **others,
            **r2,
            "n_train": scores.n_train,
            "n_test": scores.n_test,
            "verdict": told,
        }

    def _card_terms(self, own: Explained, one: Found) -> list[dict[str, Any]]:
        card, scores, terms = own.card, own.scores, []
        for i, (literal, weight) in enumerate(zip(card.literals.tolist(), card.weights.tolist(), strict=True)):
            holds = places_among(own.has[i], one.winners)[1]
            terms.append(
                self._term("winners", i, literal, weight, one.names)
                | {
                    "share": scores.shares[i],
                    "baseline_share": scores.baseline_shares[i],
                    "gain": scores.gains[i],
                    "also": [self._name(place, one.names)[1] for place in card.also[i].tolist()],
                    "sent_ids": self.sent_id[one.winners[holds][:EXAMPLES]].tolist(),
                }
            )
        return terms

    def _term(self, model: str, place: int, literal: int, weight: float, own: list[tuple[str, str, list[str]]]) -> Row:
        """Return the columns of `explanation_terms` that a literal of either model fills."""
        kind, pattern, items = self._name(literal, own)
        said = {"kind": kind, "pattern": pattern, "items": items, "negated": weight < 0, "weight": weight}
        return {"model": model, "rank": place + 1, **said}

    def _name(self, literal: int, own: list[tuple[str, str, list[str]]]) -> tuple[str, str, list[str]]:
        pool = self.literals
        if literal >= len(pool):
            return own[literal - len(pool)]
        return KINDS[pool.kind[literal]], pool.pattern[literal], pool.items[literal]

    def _ranges(self, numbers: Int64s) -> tuple[dict[int, dict[str, Any]], list[pa.Table]]:
        """Return, for each neuron, its activations in the sample, and the columns and literals of its range model.

        Also returns the measures of the controls.
        """
        found: dict[int, dict[str, Any]] = {}
        values: list[pa.Table] = []
        sample = self.sample
        if sample is None:
            return found, values
        for layer, own, units in self.layers(numbers):
            every = sample.layer(layer)
            bases = {"neurons": every[:, units], "shuffled": shuffled(every[:, units], layer, sample.seed)}
            if self.controls.are_fitted and sample.rotates:
                low = int(units[0])
                bases["rotated"] = rotated(every, layer, sample.seed, low, int(units[-1]) + 1)[:, units - low]
            models = {
                basis: sample.fitter.fit(axes, sample.most, only_r2=basis != "neurons") for basis, axes in bases.items()
            }
            for place, neuron in enumerate(own.tolist()):
                activation = bases["neurons"][:, place]
                found[neuron] = self._range_columns(sample, models["neurons"], models["shuffled"], place, activation)
            if self.controls.are_fitted:
                measured, carded = (np.isin(own, some) for some in (self.controls.measured, self.controls.carded))
                for basis, axes in bases.items():
                    of_all = range_measures(models[basis])
                    # No axis of a rotation is silent.
                    kept = {name: of_all[name] if basis == "rotated" else of_all[name][measured] for name in of_all}
                    values += _values(layer, basis, "range", kept)
                    measures = self._sample_measures(sample, axes[:, carded], basis == "shuffled")
                    values += _values(layer, basis, "winners", measures)
        return found, values

    def layers(self, numbers: Int64s) -> Iterator[tuple[int, Int64s, Int64s]]:
        """Return each layer of some neurons, their numbers, and their units."""
        layer, unit = self.neurons.layer_and_unit(numbers)
        for one in np.unique(layer).tolist():
            yield one, numbers[layer == one], unit[layer == one].astype(np.int64)

    def _range_columns(
        self, sample: SampleModels, models: RangeModels, chance: RangeModels, unit: int, activation: Float32s
    ) -> dict[str, Any]:
        r2 = {
            "r2": models.r2[unit],
            "r2_low": models.r2_low[unit],
            "r2_high": models.r2_high[unit],
            "r2_nuisance": models.r2_nuisance[unit],
            "r2_shuffled": chance.r2[unit],
        }
        terms: list[Row] = []
        if not models.count[unit]:
            return {"r2": r2, "terms": terms, "activations": activation}
        top = top_places(activation, max(len(activation) // 10, 1))
        first = _first_of(activation, top)
        for i in range(int(models.count[unit])):
            literal, weight = int(models.literals[unit, i]), float(models.weights[unit, i])
            has = _has(sample, literal)
            holds = has if weight > 0 else ~has
            terms.append(
                self._term("range", i, literal, weight, [])
                | {
                    "share": holds[top].mean(),
                    "baseline_share": holds.mean(),
                    "gain": models.gains[unit, i],
                    "also": [self._name(copy, [])[1] for copy in sample.fitter.near_copies(literal).tolist()],
                    "sent_ids": self.sent_id[sample.rows[first(holds)]].tolist(),
                }
            )
        return {"r2": r2, "terms": terms, "activations": activation}

    def _random_f1(self, one: Found, chance: HeldOutSets) -> float:
        """Return the F1 of a random set of the same size: one of `RANDOM_SETS` that all sets share.

        The set is drawn for the set number modulo `RANDOM_SETS`, so it does not depend on which neuron needs it first.
        """
        number = one.number % RANDOM_SETS
        if number not in self._random:
            self._random[number] = self._chance_f1(chance.random(len(one.winners), number))
        return self._random[number]

    def _chance_f1(self, rows: Int64s) -> float:
        return self.sets.explain(rows, intervals=False, terms=False).scores.f1

    def _sample_measures(self, sample: SampleModels, activations: Float32s, found: bool) -> dict[str, Float64s]:
        """Return how well a card distinguishes the top 1 % of the sample along each axis from the rest of the sample.

        Args:
            sample: the models of the sample.
            activations: the sample's activations, `[n, axes]`.
            found: whether to measure also if anything was found, which requires intervals.
        """
        n, axes = activations.shape
        size = max(n // SAMPLE_WINNERS, LEAST_SAMPLE_WINNERS)
        names = ("f1", "f1_nuisance", "average_precision", *(("found",) if found else ()))
        measured = {name: np.full(axes, np.nan) for name in names}
        if 2 * size > n:
            return measured
        random = self._sample_random_f1(sample, size) if found else np.nan
        for axis, values in enumerate(np.ascontiguousarray(activations.T)):
            winners = sample.rows[top_places(values, size)]
            own = sample.sets.explain(winners, intervals=False, terms=False)
            if found and len(own.card.literals):
                # A card without literals finds nothing, whatever its interval.
                own = sample.sets.explain(winners, terms=False)
            measured["f1"][axis], measured["f1_nuisance"][axis] = own.scores.f1, own.nuisance_f1
            measured["average_precision"][axis] = own.scores.average_precision
            if found:
                measured["found"][axis] = _verdict(own, np.nan, random) in ("explained", "nuisance")
        return measured

    def _sample_random_f1(self, sample: SampleModels, size: int) -> float:
        if self._random_of_sample is None:
            rng = np.random.default_rng([sample.seed, SAMPLE_SETS])
            rows = np.sort(rng.choice(sample.rows, size, replace=False))
            self._random_of_sample = sample.sets.explain(rows, intervals=False, terms=False).scores.f1
        return self._random_of_sample


def top_places(values: Float32s, size: int) -> Int64s:
    """Return the indices of the `size` largest of values `[n]`, ascending; ties go to the first.

    >>> top_places(np.array([3, 1, 2, 2, 2], np.float32), 3).tolist()
    [0, 2, 3]
    """
    least = np.partition(values, len(values) - size)[len(values) - size]
    above, equal = np.flatnonzero(values > least), np.flatnonzero(values == least)
    return np.sort(np.concatenate((above, equal[: size - len(above)])))


def _first_of(values: Float32s, top: Int64s) -> Callable[[Bools], Int64s]:
    """Return a function that maps the sentences that hold, `[n]`, to the indices of their `EXAMPLES` largest values.

    Ties go to the first. Most calls find enough among the top values and need not sort the others.

    Args:
        values: `[n]`.
        top: indices of the largest values, as `top_places` returns them.
    """
    order = top[np.argsort(-values[top], kind="stable")]

    def first(holds: Bools) -> Int64s:
        found = order[holds[order]][:EXAMPLES]
        if len(found) == EXAMPLES:
            return found
        places = np.flatnonzero(holds)
        return places[np.argsort(-values[places], kind="stable")[:EXAMPLES]]

    return first


def _has(sample: SampleModels, literal: int) -> Bools:
    """Return which of the sample's sentences have a literal, `[n]`."""
    found = sample.sets.known.matrix.found
    has = np.zeros(len(sample.rows), np.bool_)
    has[found.sentences[found.offsets[literal] : found.offsets[literal + 1]]] = True
    return has


def _verdict(own: Explained, matched_f1: float, random_f1: float) -> str:
    return verdict(
        literals=len(own.card.literals),
        n_test=own.scores.n_test,
        test_documents=own.scores.test_documents,
        f1_low=own.scores.f1_low,
        random_f1=random_f1,
        nuisance_f1=own.nuisance_f1,
        matched_f1=matched_f1,
    )


def _values(layer: int, basis: str, model: str, measures: Mapping[str, Floats]) -> list[pa.Table]:
    """Return a row for each value, with the columns of `VALUES`."""
    tables = []
    for measure, values in measures.items():
        key = [pa.repeat(name, len(values)) for name in (layer, basis, model, measure)]
        tables.append(pa.table([*key, pa.array(np.asarray(values, np.float64))], names=VALUES.names).cast(VALUES))
    return tables
