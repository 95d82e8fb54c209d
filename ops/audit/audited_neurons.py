"""Audits ranges of neurons: computes their cards in every data set, their literals' lifts, and the resulting rows."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ops import sampling, schema
from ops.arrays import Float32s, Float64s, Int64s
from ops.audit.asked_half import Winners, totals
from ops.audit.audited_division import AuditedDivision, KnownSentences, RangeWinners
from ops.audit.dataset_winners import read_dataset_winners
from ops.audit.divisions import DATASETS, HALVES, Division
from ops.audit.lifts import Counted, Lifts, lifts
from ops.audit.transfer import HOLDS, Precisions, interval
from ops.audit.verdict import verdict
from ops.audit.within import WithinParts
from ops.explain.held_out_scores import resampling
from ops.explain.known_literals import KnownLiterals
from ops.explain.literals import Literals
from ops.explain.set_explainer import DRAWN_DOCUMENTS
from ops.mine.mining import Mining
from ops.statistics.interval import UNDEFINED, Interval
from ops.storage.store import Store
from ops.topk.neurons import POLES

TABLES = ("portability", "patterns", "neurons")
_PRECISIONS = ("average_precision", "random_precision")
Row = dict[str, Any]


@dataclass(frozen=True)
class Terms:
    """The literals of explanations, as rows of `explanation_terms/` with their indices in the pool.

    Attributes:
        of_set: the rows of each set of winners, including those of its neuron's range model.
        of_neuron: the rows of each neuron's range model.
    """

    of_set: dict[int, list[Row]]
    of_neuron: dict[int, list[Row]]


class AuditedNeurons:
    """Audits ranges of a run's neurons.

    Args:
        store: the run's folder.
        mining: the annotated sentences, with words in lower case.
        literals: the literals from which cards are made, and those of the explanations.
        rows: the rows of the sentences whose literals are known, ascending.
        matrix: the literals of these sentences.
        division: the corpus by data set.
        terms: a function that returns the literals of the explanations of some neurons.
        sampled: the rows of the activation sample.
        layer: a function that returns the activations of a layer, `[sampled, units]`.
        table: the table of the winners, `topk_by_dataset` or `topk`.
        most_winners: maximum number of winners in a data set.
        card_literals: maximum number of literals on a card, not counting nuisance.
        controlled: the numbers of the neurons for which controls are computed, ascending.
        seed: the seed of all draws.
    """

    def __init__(
        self, store: Store, mining: Mining, literals: Literals, rows: Int64s, matrix: KnownLiterals,
        division: Division, terms: Callable[[Int64s], Terms], sampled: Int64s, layer: Callable[[int], Float32s],
        table: str, most_winners: int, card_literals: int, controlled: Int64s, seed: int,
    ) -> None:  # fmt: skip
        sentences = mining.sentences
        self.store, self.mining, self.terms, self.layer = store, mining, terms, layer
        self.table, self.most_winners, self.controlled = table, most_winners, controlled
        document = np.asarray(sentences.doc).astype(np.int64) % DRAWN_DOCUMENTS
        documents = min(sentences.documents, DRAWN_DOCUMENTS)
        # The first column is the sample itself.
        draws = np.insert(resampling(documents, seed, purpose=sampling.AUDIT_RESAMPLES), 0, 1, axis=1)
        held_out = np.asarray(sentences.held_out)
        baseline = np.asarray(sentences.baseline)[rows]
        self.winners = RangeWinners(literals)
        known = KnownSentences(rows, matrix, baseline, document, held_out, draws)
        divisions = [division]
        if len(controlled):
            own = np.asarray(sentences.doc).astype(np.int64)
            divisions += [
                division.permuted(own, rows[baseline], seed), division.halves(own, rows[baseline], seed)
            ]  # fmt: skip
        self.audited = {
            one.name: AuditedDivision(one, known, sentences, literals, self.winners, card_literals, seed)
            for one in divisions
        }
        self._sampled = sampled
        self._matrix = matrix.of(np.isin(rows, sampled))
        self._within, self._test = {}, {}
        for one in divisions[:2]:
            part, own = one.of_row[sampled], document[sampled]
            self._within[one.name] = WithinParts(part, own, draws)
            self._test[one.name] = WithinParts(part, own, draws, held_out[sampled])

    def audit(self, numbers: Int64s) -> dict[str, pa.Table]:
        """Return the rows of some neurons in each of `TABLES` in `audit/`, and the rows of their controls."""
        division = self.audited[DATASETS].division
        found = list(
            read_dataset_winners(
                self.store, self.mining.neurons, self.mining.sentences, numbers, self.table, division.of_row,
                self.most_winners,
            )
        )  # fmt: skip
        self.winners.load(np.unique(np.concatenate([np.zeros(0, np.int64), *(rows for _, rows in found)])))
        terms = self.terms(numbers)
        shares = self._shares(numbers, terms)
        rows: dict[str, list[Row]] = {f"{table}{end}": [] for table in TABLES for end in ("", "_controls")}
        for number, winners in found:
            neuron = number // len(POLES)
            for name in self.audited if neuron in self.controlled else (DATASETS,):
                self._one(name, number, winners, terms, shares, rows)
        return {table: schema.table(f"audit/{table}", map(_finite, own)) for table, own in rows.items()}

    def _one(
        self, name: str, number: int, winners: Int64s, terms: Terms, shares: dict[tuple[str, int], Row],
        rows: dict[str, list[Row]],
    ) -> None:  # fmt: skip
        """Append the rows of one set of winners in one division."""
        audited = self.audited[name]
        neuron, pole = divmod(number, len(POLES))
        layer, unit = (int(x[0]) for x in self.mining.neurons.layer_and_unit(np.array([neuron])))
        key: Row = {"layer": layer, "unit": unit, "pole": POLES[pole]}
        end = ""
        if name != DATASETS:
            key, end = {"control": name} | key, "_controls"
        asked = audited.test_winners(winners)
        precisions = audited.precisions(number, winners, asked)
        rows[f"portability{end}"] += [key | row for row in _portability(precisions, audited.division, asked)]
        any_lift = False
        if name != HALVES:
            of_terms = self._lifts(audited, terms.of_set.get(number, []), asked)
            described = list(zip(terms.of_set.get(number, []), of_terms, strict=True))
            # A literal of the range model may describe the small part of the activation that the data set does not
            # explain.
            any_lift = any(own.mantel_haenszel.low > 1 for term, own in described if term["model"] == "winners")
            n = np.bincount(asked.part, minlength=len(audited.division))
            rows[f"patterns{end}"] += [key | _pattern(term, own, audited.division, n) for term, own in described]
        share = shares.get((name, neuron), {})
        row = _neuron(precisions, audited.division, asked, share, any_lift)
        rows[f"neurons{end}"].append(key | row)

    def _lifts(self, audited: AuditedDivision, terms: list[Row], asked: Winners) -> list[Lifts]:
        """Return the lifts of literals among the winners of the test half, or of their absence if they are negated."""
        parts, found = len(audited.division), []
        winners, rest = _by_part(asked, slice(None), parts), audited.asked.rest(asked)
        for term in terms:
            literal = int(term["literal"])
            having = self.winners.answers.find(asked.places, np.array([literal])).sentences
            hits, others = _by_part(asked, np.unique(having), parts), audited.asked.having(literal, asked)
            if term["negated"]:
                hits, others = winners - hits, rest - others
            found.append(lifts(Counted(hits, winners, others, rest)))
        return found

    def _shares(self, numbers: Int64s, terms: Terms) -> dict[tuple[str, int], Row]:
        """Return the columns `eta_squared` and `r2_within` of the neurons, by division and neuron."""
        found: dict[tuple[str, int], Row] = {}
        if not len(self._sampled):
            return found
        layers, units = self.mining.neurons.layer_and_unit(numbers)
        for layer in np.unique(layers).tolist():
            own = layers == layer
            every = self.layer(layer)[:, units[own].astype(np.int64)]
            predicted = self._predicted(numbers[own], terms)
            has_model = np.array([bool(terms.of_neuron.get(int(number))) for number in numbers[own]])
            for name, within in self._within.items():
                test = self._test[name]
                eta, r2 = within.eta_squared(every), test.r2_within(every, predicted)
                for place, number in enumerate(numbers[own].tolist()):
                    row = _interval("eta_squared", _clipped(eta[place], within.documents))
                    if has_model[place]:
                        row |= _interval("r2_within", _clipped(r2[place], test.documents, -math.inf))
                    found[name, number] = row
        return found

    def _predicted(self, numbers: Int64s, terms: Terms) -> Float64s:
        """Return the sums of the weighted literals of the neurons' range models, `[sampled, neurons]`."""
        predicted = np.zeros((len(self._sampled), len(numbers)))
        own = self._matrix.found
        for place, number in enumerate(numbers.tolist()):
            for term in terms.of_neuron.get(number, []):
                literal = int(term["literal"])
                predicted[own.sentences[own.offsets[literal] : own.offsets[literal + 1]], place] += term["weight"]
        return predicted


def _by_part(asked: Winners, which: Any, parts: int) -> Float64s:
    """Return how many of the selected winners are in each part, `[parts, 1 + samples]`."""
    own = asked.part[which]
    return totals(own, np.arange(len(own)), asked.draws[which], parts).astype(np.float64)


def _clipped(drawn: Float64s, clusters: int, least: float = 0.0) -> Interval:
    if not math.isfinite(drawn[0]):
        return UNDEFINED
    own = interval(drawn, clusters)
    return own._replace(low=max(own.low, least), high=min(own.high, 1.0))


def _interval(name: str, own: Interval) -> Row:
    return {name: own.value, f"{name}_low": own.low, f"{name}_high": own.high}


def _portability(precisions: Precisions, division: Division, asked: Winners) -> Iterable[Row]:
    pairs = precisions.pairs
    n = np.bincount(asked.part, minlength=len(division))
    for start, name in enumerate(division.parts):
        for to in np.flatnonzero(division.group == division.group[start]).tolist():
            one = np.zeros_like(pairs)
            one[start, to] = pairs[start, to]
            clusters = int(precisions.documents[to])
            measured = {
                column: _clipped(values[start, to], clusters)
                for column, values in zip(_PRECISIONS, (precisions.own, precisions.random), strict=True)
            } | {"transfer": precisions.transfer(one)}
            row: Row = {"dataset_from": name, "dataset_to": division.parts[to], "n": int(n[to]), "documents": clusters}
            for column, own in measured.items():
                row |= _interval(column, own)
            yield row


def _pattern(term: Row, own: Lifts, division: Division, n: Int64s) -> Row:
    row: Row = {name: term[name] for name in ("pole", "model", "rank", "kind", "pattern", "negated")}
    overall = term["lift"]
    return row | _interval("mantel_haenszel", own.mantel_haenszel) | {
        "dataset_names": list(division.parts),
        "log_lifts": _nulls(own.log_lift),
        "log_lifts_low": _nulls(own.low),
        "log_lifts_high": _nulls(own.high),
        "winners": n.tolist(),
        "n": int(n.sum()),
        "significant": int(own.significant.sum()),
        "cochran_q": own.q,
        "cochran_p": own.q_p,
        "i_squared": own.i2,
        "lift": overall,
        "verdict": own.verdict(overall),
    }  # fmt: skip


def _neuron(precisions: Precisions, division: Division, asked: Winners, share: Row, any_lift: bool) -> Row:
    known = np.isfinite(np.diagonal(precisions.gain)[0])
    into, found = precisions.into(), precisions.beats_random()
    holds = [name for name, own in zip(division.parts, into, strict=True) if own.value >= HOLDS and own.low > 0]
    overall = precisions.transfer(precisions.pairs)
    illusion = Interval(1 - overall.value, 1 - overall.high, 1 - overall.low)
    row = _interval("transfer", overall) | _interval("illusion", illusion) | share
    return row | {
        "ported": len(holds),
        "holds_in": holds,
        "found_in": [name for name, own in zip(division.parts, found.tolist(), strict=True) if own],
        "datasets": int(known.sum()),
        "n": len(asked.part),
        "verdict": verdict(
            eta_squared=share.get("eta_squared", math.nan), any_lift=any_lift, ported=len(holds),
            datasets=int(known.sum()), found=int(found.sum()),
        ),
    }  # fmt: skip


def _nulls(values: Float64s) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]


def _finite(row: Row) -> Row:
    return {name: None if isinstance(value, float) and math.isinf(value) else value for name, value in row.items()}
