"""What the activation sample says about neurons: models of their activations, controls, examples and hard negatives."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyarrow as pa

from ops.arrays import Float32s, Float64s, Int64s, places_among
from ops.compare.activation_vectors import layer_activations
from ops.explain.activation_model import ActivationFitter, ActivationModels
from ops.explain.card import Card
from ops.explain.card_rows import EXAMPLES, named
from ops.explain.controls import Controls, activation_measures, value_rows
from ops.explain.examples import examples, hard_negatives
from ops.explain.rotation import rotated, shuffled
from ops.explain.set_explainer import Own, SetExplainer
from ops.explain.verdict import Evidence, by_chance
from ops.literals.find import Literals
from ops.literals.incidence import having
from ops.mine.mining import Mining
from ops.statistics.highest import highest
from ops.storage.store import Store
from ops.topk.activation_sample import is_sparse

# The minimum number of winners in a control, and the number of sentences for each winner.
LEAST_SAMPLE_WINNERS, SAMPLE_WINNERS = 50, 100
Row = dict[str, Any]


@dataclass(frozen=True)
class Modelled:
    """The activation model of a neuron.

    Attributes:
        activations: the neuron's activations in the sample, `[n]`.
        r2: the columns of `explanations` about the model.
        terms: its rows in `explanation_terms`, without the neuron's columns.
    """

    activations: Float32s
    r2: Row
    terms: list[Row] = field(default_factory=list)


class SampleExplainer:
    """Explains neurons by their activations in the activation sample.

    Args:
        store: the run's folder.
        mining: the annotated sentences.
        literals: the pool.
        sets: explains sets of the sample's sentences, which represent the corpus.
        baseline: the rows of the baseline, in which a neuron's own literals are known.
        seed: the seed of all draws.
        most: maximum number of literals in an activation model, not counting nuisance.
        controls: which controls are fitted.
        rotates: whether a random rotation of a layer's units is one of the controls.
    """

    def __init__(
        self, store: Store, mining: Mining, literals: Literals, sets: SetExplainer, baseline: Int64s, seed: int,
        most: int, controls: Controls, rotates: bool,
    ) -> None:  # fmt: skip
        self._literals, self._sets, self._seed, self._most = literals, sets, seed, most
        self._controls, self._rotates, self._neurons = controls, rotates, mining.neurons
        self._layer = lru_cache(1)(partial(layer_activations, store))
        self._is_sparse = is_sparse(store)
        self.rows, self._matrix = sets.known.rows, sets.known.matrix
        self._in_baseline = places_among(baseline, self.rows)
        self._ids = mining.sentences.sent_id[self.rows]
        document = np.asarray(mining.sentences.doc)[self.rows].astype(np.int64)
        self._fitter = ActivationFitter(
            self._matrix, literals.nuisance, np.asarray(mining.sentences.held_out)[self.rows], document, seed,
            plainness=literals.plainness,
        )  # fmt: skip

    def models(self, numbers: Int64s) -> tuple[dict[int, Modelled], list[pa.Table]]:
        """Return the model of each neuron, and the measures of the controls."""
        modelled: dict[int, Modelled] = {}
        values: list[pa.Table] = []
        for layer, neurons, units in self._layers(numbers):
            every = self._layer(layer)
            bases = {"neurons": every[:, units], "shuffled": shuffled(every[:, units], layer, self._seed)}
            if self._controls.are_fitted and self._rotates:
                low = int(units[0])
                bases["rotated"] = rotated(every, layer, self._seed, low, int(units[-1]) + 1)[:, units - low]
            models = {
                basis: self._fitter.fit(axes, self._most, only_r2=basis != "neurons") for basis, axes in bases.items()
            }
            for column, neuron in enumerate(neurons.tolist()):
                activations = bases["neurons"][:, column]
                modelled[neuron] = self._modelled(models["neurons"], models["shuffled"], column, activations)
            if self._controls.are_fitted:
                measured, carded = (np.isin(neurons, some) for some in (self._controls.measured, self._controls.carded))
                for basis, axes in bases.items():
                    of_all = activation_measures(models[basis])
                    # No axis of a rotation is silent.
                    kept = {name: of_all[name] if basis == "rotated" else of_all[name][measured] for name in of_all}
                    values += value_rows(layer, basis, "activation", kept)
                    values += value_rows(layer, basis, "winners", self._card_measures(axes[:, carded]))
        return modelled, values

    def examples(self, numbers: Int64s) -> list[pa.Table]:
        """Return the rows of `examples` from the tenths of the neurons' ranges."""
        return [
            examples(layer, units, self._layer(layer)[:, units], self._ids, self._seed)
            for layer, _, units in self._layers(numbers)
        ]

    def negatives(self, card: Card, own_literals: Own, won: Int64s, activations: Float32s, pole: str) -> list[Row]:
        """Return the columns of `examples` for the hard negatives of a card.

        Args:
            card: the published card, in terms of the pool's literals and `own_literals` after them.
            own_literals: the literals of this neuron and pole alone.
            won: the rows of the neuron's winners at both poles.
            activations: the neuron's activations in the sample, `[n]`.
            pole: the card's pole.
        """
        size = len(self._literals)
        has = np.zeros((len(self.rows), len(card.literals)), np.bool_)
        is_pool = card.literals < size
        for index in np.flatnonzero(is_pool).tolist():
            has[:, index] = having(self._matrix, card.literals[index])
        if not is_pool.all():
            which, (places, is_known) = card.literals[~is_pool] - size, self._in_baseline
            has[np.ix_(is_known, ~is_pool)] = own_literals.matrix[which][:, places].toarray().T > 0
            has[np.ix_(~is_known, ~is_pool)] = own_literals.find(self.rows[~is_known])[which].toarray().T > 0
        negatives = hard_negatives(
            card.scores(has), card.threshold, activations, np.isin(self.rows, won), pole, self._is_sparse
        )
        return [
            {"rank": rank, "sent_id": int(self._ids[sentence]), "activation": float(activations[sentence])}
            for rank, sentence in enumerate(negatives.tolist(), 1)
        ]

    def _layers(self, numbers: Int64s) -> Iterator[tuple[int, Int64s, Int64s]]:
        """Return each layer of some neurons, their numbers, and their units."""
        layer, unit = self._neurons.layer_and_unit(numbers)
        for one in np.unique(layer).tolist():
            yield one, numbers[layer == one], unit[layer == one].astype(np.int64)

    def _modelled(
        self, models: ActivationModels, chance: ActivationModels, unit: int, activations: Float32s
    ) -> Modelled:  # fmt: skip
        r2 = {
            "r2": models.r2[unit], "r2_low": models.r2_low[unit], "r2_high": models.r2_high[unit],
            "r2_nuisance": models.r2_nuisance[unit], "r2_shuffled": chance.r2[unit],
        }  # fmt: skip
        if not models.count[unit]:
            return Modelled(activations, r2)
        order = np.argsort(-activations, kind="stable")
        top = order[: max(len(order) // 10, 1)]
        terms: list[Row] = []
        for index in range(int(models.count[unit])):
            literal, weight = int(models.literals[unit, index]), float(models.weights[unit, index])
            has = having(self._matrix, literal)
            holds = has if weight > 0 else ~has
            copies = self._fitter.near_copies(literal).tolist()
            terms.append(
                {
                    "model": "activation", "rank": index + 1, **named(self._literals.every[literal]),
                    "negated": weight < 0, "weight": weight, "share": holds[top].mean(),
                    "baseline_share": holds.mean(), "gain": models.gains[unit, index], "stability": None,
                    "also": [self._literals.every[copy].pattern for copy in copies],
                    "sent_ids": self._ids[order[holds[order]][:EXAMPLES]].tolist(),
                }
            )  # fmt: skip
        return Modelled(activations, r2, terms)

    def _card_measures(self, activations: Float32s) -> dict[str, Float64s]:
        """Return how well cards distinguish the top 1 % of the sample along each axis from the rest of the sample.

        Sentences in which a sparse feature is not active are not among the top. Measures are NaN for an axis with fewer
        than `LEAST_SAMPLE_WINNERS` top sentences. `found` says whether a card has a literal that is not nuisance and
        beats chance and nuisance as a rule does.
        """
        n, axes = activations.shape
        size = max(n // SAMPLE_WINNERS, LEAST_SAMPLE_WINNERS)
        measured = {name: np.full(axes, np.nan) for name in ("f1", "nuisance_f1", "average_precision", "found")}
        if 2 * size > n:
            return measured
        for axis, top in enumerate(np.sort(highest(activations.T, size), 1)):
            if self._is_sparse:
                top = top[activations[top, axis] > 0]
            if len(top) < LEAST_SAMPLE_WINNERS:
                continue
            folded = self._sets.fold(self.rows[top])
            evidence = Evidence(
                winners=len(top), documents=folded.documents, folds=folded.folds, too_many=False, f1=folded.calls.f1,
                chance=by_chance(len(top), n), nuisance=folded.of_nuisance.f1, matched=None, finds=folded.size > 0,
                area=None,
            )  # fmt: skip
            measured["f1"][axis], measured["nuisance_f1"][axis] = folded.calls.f1.value, folded.of_nuisance.f1.value
            measured["average_precision"][axis] = folded.asked.ranked(folded.size).average_precision.value
            measured["found"][axis] = evidence.is_rule()
        return measured
