"""Audits ranges of neurons: learns their cards in every data set, and tests these and the literals of explanations."""

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from ops import schema
from ops.arrays import Bools, Float32s, Float64s, Floats, Int32s, Int64s
from ops.audit.audit_rows import LEAST_LIFT, Row, neuron_row, pattern_row, portability_rows
from ops.audit.audited_division import AuditedDivision, DatasetWinners, RangeWinners
from ops.audit.audited_literals import ExplanationLiterals, Tested
from ops.audit.divisions import DATASETS, HALVES, NO_PART, Division
from ops.literals.find import Literals
from ops.literals.incidence import having
from ops.mine.mining import Mining
from ops.sentences.store import SentenceStore
from ops.sentences.winner_sets import WinnerSets, read_winner_sets
from ops.statistics.association import place_in_group
from ops.statistics.interval import Interval
from ops.statistics.lifts import Counted, Lifts, lifts
from ops.statistics.ratio import Ratio
from ops.storage.store import Store
from ops.topk.neurons import POLES, Neurons, set_number
from ops.topk.winner_groups import winner_groups

TABLES = ("portability", "patterns", "neurons")


class AuditedNeurons:
    """Audits ranges of a run's neurons.

    Args:
        mining: the annotated sentences, with words in lower case.
        literals: the literals from which cards are made, and those of the explanations.
        rows: the rows of the sentences whose literals are known, ascending.
        matrix: which literals these sentences have, `[L, rows]`.
        sampled: the rows of the activation sample.
        layer: a function that returns the activations of a layer, `[sampled, units]`.
        table: the table of the winners, `topk_by_dataset` or `topk`.
        most_winners: maximum number of winners in a data set.
        card_literals: maximum number of literals on a card, not counting nuisance.
        controlled: the numbers of the neurons for which controls are computed, ascending.
    """

    def __init__(
        self, store: Store, mining: Mining, literals: Literals, rows: Int64s, matrix: csr_array, division: Division,
        explanations: ExplanationLiterals, sampled: Int64s, layer: Callable[[int], Float32s], table: str,
        most_winners: int, card_literals: int, controlled: Int64s, seed: int,
    ) -> None:  # fmt: skip
        self.store, self.mining, self.explanations, self.layer = store, mining, explanations, layer
        self.table, self.most_winners, self.controlled = table, most_winners, controlled
        self.literals, self.winners = literals, RangeWinners(literals)
        sentences, document = mining.sentences, np.asarray(mining.sentences.doc).astype(np.int64)
        is_baseline = np.asarray(sentences.baseline)[rows]
        baseline = rows[is_baseline]
        divisions = [division]
        if len(controlled):
            divisions += [division.permuted(document, baseline, seed), division.halves(document, baseline, seed)]
        of_baseline = matrix[:, is_baseline]
        self.audited = {
            one.name: AuditedDivision(
                one, baseline, of_baseline, sentences, literals, self.winners, card_literals, seed
            ) for one in divisions
        }  # fmt: skip
        self._sampled, self._matrix = sampled, matrix[:, np.isin(rows, sampled)]
        test_half = np.asarray(sentences.held_out)[sampled]
        self._within = {
            one.name: [WithinParts(one.of_row[sampled], document[sampled], keep) for keep in (None, test_half)]
            for one in divisions if one.name != HALVES
        }  # fmt: skip

    def audit(self, numbers: Int64s) -> dict[str, pa.Table]:
        """Return the rows of some neurons in each of `TABLES` in `audit/`, and the rows of their controls."""
        part = self.audited[DATASETS].division.of_row
        run = self.store, self.mining.neurons, self.mining.sentences
        sets = list(read_dataset_winners(*run, numbers, self.table, part, self.most_winners))
        self.winners.load(np.unique(np.concatenate([np.zeros(0, np.int64), *(rows for _, rows in sets)])))
        tested = self.explanations.of(numbers)
        shares = self._shares(numbers, tested)
        rows: dict[str, list[Row]] = {f"{table}{end}": [] for table in TABLES for end in ("", "_controls")}
        for number, winners in sets:
            neuron = number // len(POLES)
            for name in self.audited if neuron in self.controlled else (DATASETS,):
                self._one(name, number, winners, tested.get(number, []), shares.get((name, neuron), {}), rows)
        return {table: schema.table(f"audit/{table}", table_rows) for table, table_rows in rows.items()}

    def _one(
        self, name: str, number: int, rows_of: Int64s, tested: list[Tested], share: Row, rows: dict[str, list[Row]]
    ) -> None:
        """Append the rows of one set of winners in one division."""
        audited, (neuron, pole) = self.audited[name], divmod(number, len(POLES))
        layer, unit = (int(x[0]) for x in self.mining.neurons.layer_and_unit(np.array([neuron])))
        key: Row = {"layer": layer, "unit": unit, "pole": POLES[pole]}
        end = ""
        if name != DATASETS:
            key, end = {"control": name} | key, "_controls"
        winners = audited.winners(rows_of)
        precisions = audited.precisions(number, winners)
        rows[f"portability{end}"] += [key | row for row in portability_rows(precisions, audited.division, winners.n)]
        any_lift = False
        if name != HALVES:
            within = literal_lifts(audited, winners, tested, self.literals.known)
            for literal, lift in zip(tested, within, strict=True):
                rows[f"patterns{end}"].append(key | pattern_row(literal, lift, audited.division, winners))
                # A literal of the activation model may describe the small part of the activation that the data set
                # does not explain, and sentences of one length may win in each data set.
                if literal.row["model"] == "winners" and not self.literals.nuisance[literal.literal]:
                    any_lift |= lift.mantel_haenszel.low > 1 and lift.mantel_haenszel.value >= LEAST_LIFT
        rows[f"neurons{end}"].append(key | share | neuron_row(precisions, audited.division, winners, share, any_lift))

    def _shares(self, numbers: Int64s, tested: dict[int, list[Tested]]) -> dict[tuple[str, int], Row]:
        """Return the columns `eta_squared` and `r2_within` of the neurons, by division and neuron."""
        shares: dict[tuple[str, int], Row] = {}
        if not len(self._sampled):
            return shares
        layers, units = self.mining.neurons.layer_and_unit(numbers)
        for layer in np.unique(layers).tolist():
            neurons = numbers[layers == layer].tolist()
            every = self.layer(layer)[:, units[layers == layer].astype(np.int64)]
            predicted, modelled = np.zeros(every.shape), set()
            for column, number in enumerate(neurons):
                for term in tested.get(int(set_number(number, POLES.index(self.explanations.tested_on))), []):
                    if term.row["model"] == "activation":
                        modelled.add(number)
                        predicted[having(self._matrix, term.literal), column] += term.row["weight"]
            for name, (sample, test_half) in self._within.items():
                eta, r2 = sample.eta_squared(every), test_half.r2_within(every, predicted)
                for number, own_eta, own_r2 in zip(neurons, eta, r2, strict=True):
                    of_model = own_r2.columns("r2_within") if number in modelled else {}
                    shares[name, number] = own_eta.columns("eta_squared") | of_model
        return shares


def literal_lifts(
    audited: AuditedDivision, winners: DatasetWinners, tested: list[Tested], known: Int64s
) -> list[Lifts]:  # fmt: skip
    """Return the lifts of literals, or of their absence if they are negated, in the folds that test them.

    A literal about metadata is tested on the sentences that `known [L]`, another literal, says to have the key.
    """
    all_lifts = []
    for literal in tested:
        counts: list[Float64s] = []
        for matrix, document, sentences in (
            (winners.matrix, winners.document, literal.folds[winners.fold]),
            (audited.matrix, audited.document, literal.folds[audited.fold] & winners.others),
        ):
            if known[literal.literal] >= 0:
                sentences = sentences & having(matrix, known[literal.literal])
            holds = having(matrix, literal.literal) != literal.row["negated"]
            for mask in (sentences & holds, sentences):
                counts.append(np.bincount(document, mask, len(audited.part_of)).astype(np.float64))
        hits, n, others, rest = counts
        all_lifts.append(lifts(Counted(hits, n, others, rest, audited.part_of, winners.usable)))
    return all_lifts


def read_dataset_winners(
    store: Store, neurons: Neurons, sentences: SentenceStore, numbers: Int64s, table: str, part: Int32s, most: int
) -> Iterator[tuple[int, Int64s]]:
    """Yield the sets of some neurons in order: the set's number, and the rows of its winners in data sets, ascending.

    Every set that has winners in `topk/` is there, also one without any in these data sets.

    Args:
        numbers: the numbers of the neurons to read, ascending.
        table: `topk_by_dataset` or `topk`.
        part: the part of each row of the annotated sentences, -1 for rows to skip.
        most: maximum number of winners in a data set. If there are more, those with the first ranks are kept.
    """
    winners = read_winner_sets(store, neurons, sentences, numbers, table)
    of_part = part[winners.rows.items]
    # Within a set and data set, the winners are sorted by rank.
    key = np.where(of_part < 0, -1, winners.set_of * (int(part.max(initial=0)) + 1) + of_part)
    order = np.argsort(key, kind="stable")
    order = order[key[order] >= 0]
    kept = np.zeros(len(key), np.bool_)
    kept[order[place_in_group(key[order]) < most]] = True
    chosen = dict(WinnerSets(winners.number, winners.rows.where(kept)).by_row().each())
    none = np.zeros(0, np.int64)
    every = np.unique(np.concatenate([none, *(number for number, _ in winner_groups(store, neurons, numbers))]))
    yield from ((number, chosen.get(number, none)) for number in every.tolist())


class WithinParts:
    """The activation sample by part of the corpus.

    Args:
        part: the part of each sentence of the activation sample, `NO_PART` if it has none, `[n]`.
        document: the document of each sentence, `[n]`.
        keep: which sentences are counted, `[n]`; None for all.
    """

    def __init__(self, part: Int32s, document: Int64s, keep: Bools | None = None) -> None:
        counted = part != NO_PART if keep is None else keep & (part != NO_PART)
        self._rows = np.flatnonzero(counted)
        self._part = part[self._rows]
        self._sizes = np.bincount(self._part)[:, None]
        self._documents, self._document = np.unique(document[self._rows], return_inverse=True)

    def eta_squared(self, activations: Floats) -> list[Interval]:
        """Return the share of the variance of each unit's activations `[n, units]` between parts, within 0 and 1."""
        values = np.asarray(activations[self._rows], np.float64)
        values = values - values.mean(0) if len(values) else values
        return self._one_minus(self._centred(values), values, 0.0)

    def r2_within(self, activations: Floats, predicted: Float64s) -> list[Interval]:
        """Return the share of each unit's variance within parts that a prediction explains, at most 1.

        Activations and predictions, `[n, units]` each, are centred in each part, so only the variation within parts is
        compared.
        """
        values = np.asarray(activations[self._rows], np.float64)
        return self._one_minus(self._centred(values - predicted[self._rows]), self._centred(values), -np.inf)

    def _centred(self, values: Float64s) -> Float64s:
        """Return the counted values minus the means of their parts, `[counted, units]`."""
        means = np.zeros((len(self._sizes), values.shape[1]))
        np.add.at(means, self._part, values)
        return values - (means / np.maximum(self._sizes, 1))[self._part]

    def _one_minus(self, left: Float64s, every: Float64s, least: float) -> list[Interval]:
        """Return 1 minus the ratio of the columns' sums of squares, between `least` and 1.

        Means are where squares are smallest, so that their own error has no effect of the first order.
        """
        shares = []
        for above, below in zip((left**2).T, (every**2).T, strict=True):
            parts, whole = (
                np.asarray(np.bincount(self._document, own, len(self._documents)), np.float64) for own in (above, below)
            )
            value, low, high = Ratio.of(self._documents, parts, whole).minus(1.0)
            known = low <= high
            shares.append(Interval(-value, max(-high, least) if known else np.nan, min(-low, 1.0) if known else np.nan))
        return shares
