"""Explains neurons: learns and tests the cards of their winners, models their activations, and says both in words."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array, hstack, vstack

from ops import schema
from ops.arrays import Int64s, places_among
from ops.compare.activation_vectors import sampled_sentences
from ops.explain.card import Card
from ops.explain.card_rows import CardRows
from ops.explain.combination import evidence_needed
from ops.explain.controls import VALUES, Controls
from ops.explain.families import Pairs
from ops.explain.sample_explainer import SampleExplainer
from ops.explain.set_explainer import Folded, Known, Own, Pool, SetExplainer
from ops.explain.setting import Settings
from ops.explain.test_scores import best_single_f1, resampling
from ops.explain.verdict import Evidence, by_chance
from ops.explain.wording import explanation_text
from ops.literals.find import Literals
from ops.literals.hubs import Hubs
from ops.literals.incidence import incidence, one_row
from ops.literals.literal import Literal, plainness
from ops.literals.literal_words import PatternRules, Term
from ops.literals.own_literals import OwnWords
from ops.literals.pool import MOST_PATTERNS
from ops.literals.run_pool import WordStatistics
from ops.mine.held_out_sets import HeldOutSets, drawn_for
from ops.mine.mining import Mining
from ops.mine.pattern_kinds import SequenceKind
from ops.patterns.occurrences import Occurrences
from ops.sentences.store import SentenceStore
from ops.sentences.winner_sets import read_winner_sets
from ops.statistics.interval import Interval
from ops.storage.store import Store
from ops.storage.tables import read_table
from ops.topk.neurons import POLES, neuron_and_pole, set_number
from ops.typical.items import ItemCounter
from ops.typical.typical import Typical

# Documents with the same number modulo this share their bootstrap draws, so that memory does not grow.
DRAWN_DOCUMENTS = 1 << 16
_HUB = Literal("hub", "wins nearly everywhere", ["wins nearly everywhere"])
Row = dict[str, Any]


def known_rows(sentences: SentenceStore, sampled: Int64s) -> Int64s:
    """Return the rows whose literals are found for all neurons, ascending: the baseline and the activation sample."""
    known = np.array(sentences.baseline)
    known[sentences.rows(sampled)] = True
    return np.flatnonzero(known)


@dataclass(frozen=True)
class Assessed:
    """What is known about a set of winners.

    Attributes:
        folded: the cards of the folds.
        card: the published card, in terms of the candidates of `folded`.
        own: the literals that belong to this set alone.
        literals: the literal that each candidate is, `[M]`.
        matched: the cards of the matched set; None if no sentence matches.
        evidence: what the verdict compares.
    """

    folded: Folded
    card: Card
    own: Own
    literals: list[Literal]
    matched: Folded | None
    evidence: Evidence


class NeuronExplainer:
    """Explains ranges of a run's neurons.

    Args:
        store: the run's folder.
        mining: the annotated sentences, with words in lower case.
        pool: the literals.
        blocks: for each of the consecutive blocks of `known_rows`, which of its sentences have each literal, and its
            number of sentences.
        hubs: the sentences that win for nearly every neuron.
        words: what is known about the words.
        pairs: the pairs of neurons whose activations correlate.
        scored: number of scored sentences of the corpus, N.
        seed: the seed of all draws.
        literals, card_literals: maximum number of literals in an activation model and on a score card.
        controls: which controls are fitted.
        rotates: whether a random rotation of each layer is one of the controls.
    """

    def __init__(
        self, store: Store, mining: Mining, pool: pa.Table, blocks: Iterable[tuple[Occurrences, int]], hubs: Hubs,
        words: WordStatistics, pairs: Pairs, scored: int, seed: int, literals: int, card_literals: int,
        controls: Controls, rotates: bool,
    ) -> None:  # fmt: skip
        self.store, self.mining, self.hubs, self.pairs, self.scored = store, mining, hubs, pairs, scored
        sentences, options = mining.sentences, mining.options
        self.literals = pool_literals = Literals(pool, mining.text, mining.kinds, options["nuisance"])
        drawn, is_baseline = sampled_sentences(store), np.asarray(sentences.baseline)
        sampled, rows = sentences.rows(drawn), known_rows(sentences, drawn)
        matrix = hstack([incidence(*block) for block in blocks], "csr")
        document, fold = np.asarray(sentences.doc).astype(np.int64), np.asarray(sentences.fold)
        of_pool = Pool(pool_literals.nuisance, pool_literals.plainness, pool_literals.known, self._find)
        self.baseline = rows[is_baseline[rows]]
        known = Known(self.baseline, matrix[:, is_baseline[rows]])
        self.sets = SetExplainer(known, of_pool, document, fold, scored, card_literals)
        self.draws = resampling(min(sentences.documents, DRAWN_DOCUMENTS), seed)
        self.sample = None
        if len(sampled):
            inside = Known(sampled, matrix[:, np.isin(rows, sampled)])
            sets = SetExplainer(inside, of_pool, document, fold, len(sampled), card_literals)
            self.sample = SampleExplainer(
                store, mining, pool_literals, sets, self.baseline, seed, literals, controls, rotates
            )  # fmt: skip
        self.like = HeldOutSets(sentences, seed)
        self.rules, self.settings = PatternRules.of(options), Settings.of(sentences, self.baseline)
        self.areas = read_areas(store, mining)
        word = mining.kinds.get("word")
        self.words: OwnWords | None = None
        if isinstance(word, SequenceKind):
            given = (pool_literals.patterns("word"), options["min_count"], options["productivity"], seed)
            self.words = OwnWords(word, self.baseline, *given)
        self.typical = Typical(
            ItemCounter(mining.text, pool_literals, self.baseline, known.matrix), pool_literals.every,
            None if self.words is None else self.words.having, words.like, words.frequent, document, fold,
            least=MOST_PATTERNS if options["units"] else 0,
        )  # fmt: skip

    def explain(self, numbers: Int64s) -> dict[str, pa.Table]:
        """Return the rows of some neurons, ascending, by table.

        The tables are `explanations` without families, `explanation_terms`, `explanation_folds`, `examples`, and
        `values`, which the controls summarise.
        """
        modelled, values = self.sample.models(numbers) if self.sample else ({}, [])
        rows: list[Row] = []
        cards = CardRows(self.mining.sentences.sent_id)
        sets = list(read_winner_sets(self.store, self.mining.neurons, self.mining.sentences, numbers).each())
        won: dict[int, list[Int64s]] = {}
        for number, winners in sets:
            won.setdefault(number // len(POLES), []).append(winners)
        for neuron, models in modelled.items():
            cards.add_terms(self._key(set_number(neuron, 0)) | {"pole": None}, models.terms)
        negatives: list[Row] = []
        for number, winners in sets:
            key, neuron = self._key(number), number // len(POLES)
            assessed, fitted = self.assess(number, winners, self.areas.get(number)), modelled.get(neuron)
            folded, card = assessed.folded, assessed.card
            terms = cards.add_card(key, folded, card, assessed.literals, winners)
            typical = self.typical_of(np.sort(winners))
            moves = [_towards(term, key["pole"]) for term in (fitted.terms if fitted else [])]
            rows.append(key | self._columns(winners, assessed, typical, terms, fitted.r2 if fitted else {}, moves))
            if self.sample is not None and len(card.literals):
                others = np.concatenate(won[neuron])
                renumbered = card.renumbered(folded.which)
                activations = modelled[neuron].activations
                rows_of = self.sample.negatives(renumbered, assessed.own, others, activations, key["pole"])
                negatives += [key | row for row in rows_of]
        examples = self.sample.examples(numbers) if self.sample else []
        return {
            "explanations": schema.table("explanations", rows).drop_columns("family"),
            **cards.tables(),
            "values": schema.concatenate(VALUES, values),
            "examples": schema.table("examples", pa.concat_tables([*examples, schema.table("examples", negatives)])),
        }

    def assess(self, number: int, winners: Int64s, area: Interval | None) -> Assessed:
        """Return what is known about a set of winners.

        Args:
            number: the set's number; wins within its family do not make hubs.
            winners: the rows of the winners.
            area: `auc` of this set; None without held-out scores.
        """
        own_literals, names = self._own(number, winners)
        ascending, size = np.sort(winners), len(self.literals)
        folded = self.sets.fold(ascending, own_literals)
        card, like = folded.published(), self.like.matched(ascending)
        matched = self.sets.fold(like) if len(like) else None
        evidence = Evidence(
            winners=len(winners), documents=folded.documents, folds=folded.folds,
            too_many=2 * len(winners) > self.scored, f1=folded.calls.f1, chance=by_chance(len(winners), self.scored),
            nuisance=folded.of_nuisance.f1, matched=None if matched is None else matched.calls.f1,
            finds=not folded.lesson.candidates.nuisance[card.literals].all(), area=area,
        )  # fmt: skip
        every = self.literals.every
        literals = [names[index - size] if index >= size else every[index] for index in folded.which.tolist()]
        return Assessed(folded, card, own_literals, literals, matched, evidence)

    def typical_of(self, winners: Int64s) -> list[Row]:
        """Return the column `typical` of a set of winners, given their rows, ascending."""
        return self.typical.rows(*self.sets.listed(winners), len(winners))

    def _key(self, number: int) -> Row:
        neuron, pole = divmod(int(number), len(POLES))
        layer, unit = (int(x[0]) for x in self.mining.neurons.layer_and_unit(np.array([neuron])))
        return {"layer": layer, "unit": unit, "pole": POLES[pole]}

    def _columns(
        self, winners: Int64s, assessed: Assessed, typical: list[Row], terms: list[Row], r2: Row, moves: list[Term]
    ) -> Row:  # fmt: skip
        """Return the columns of `explanations` for one set of winners, but for its neuron, pole and family."""
        folded, card, matched, evidence = assessed.folded, assessed.card, assessed.matched, assessed.evidence
        nuisance = folded.lesson.candidates.nuisance[card.literals]
        ranked, calls, own_calls = folded.asked.ranked(folded.size, self.draws), folded.calls, folded.calls_of(card)
        verdict, others = evidence.verdict(), max(self.scored - len(winners), 1)
        text = explanation_text(
            verdict, [_term(term, is_nuisance) for term, is_nuisance in zip(terms, nuisance.tolist(), strict=True)],
            typical=typical, setting=self.settings.say(winners), winners=len(winners),
            in_sample=own_calls.shares(others), held_out=calls.shares(others), f1=calls.f1.value, area=evidence.area,
            r2=r2, moves=moves, rules=self.rules,
            needed=evidence_needed(card.weights.tolist(), card.intercept, card.threshold),
        )  # fmt: skip
        intervals = {"precision": calls.precision, "recall": calls.recall, "f1": calls.f1}
        return {
            "text": text,
            "typical": typical,
            "literals": len(terms),
            **ranked.average_precision.columns("average_precision"),
            **{
                column: number
                for name, ratio in intervals.items()
                for column, number in ratio.interval().columns(name).items()
            },
            "f1_in_sample": own_calls.f1.value,
            "auc": ranked.auc,
            "single_f1": best_single_f1(folded.lesson),
            "nuisance_f1": evidence.nuisance.value,
            "matched_f1": None if evidence.matched is None else evidence.matched.value,
            "chance_f1": evidence.chance,
            **evidence.margin().columns("margin"),
            "folds": beaten_folds(folded, matched, evidence.chance),
            **r2,
            "n": len(winners),
            "verdict": verdict,
        }

    def _find(self, rows: Int64s, which: Int64s | None) -> csr_array:
        return incidence(self.literals.find(rows, which), len(rows))

    def _own(self, number: int, winners: Int64s) -> tuple[Own, list[Literal]]:
        """Return the literals that belong to one set alone: hubs, and words that are not in the pool."""
        hubs = self.hubs.of(self._family(number))
        literals, matrices = [_HUB], [one_row(places_among(self.baseline, hubs)[0], len(self.baseline))]
        finders: list[Callable[[Int64s], csr_array]] = [
            lambda rows: one_row(np.flatnonzero(np.isin(rows, hubs)), len(rows))
        ]
        if self.words is not None:
            others = np.ones(len(self.baseline), np.bool_)
            others[places_among(self.baseline, winners)[0]] = False
            patterns, occurrences = self.words.mine(winners, others, drawn_for(winners))
            literals += self.words.literals(patterns)
            matrices.append(incidence(occurrences, len(self.baseline)))
            find_words = self.words.kind.finder(patterns)
            finders.append(lambda rows: incidence(find_words(rows), len(rows)))
        nuisance = np.array([literal.kind == _HUB.kind for literal in literals])
        own_literals = Own(
            nuisance, plainness(literals, len(self.literals)), vstack(matrices, "csr"),
            lambda rows: vstack([find(rows) for find in finders], "csr"),
        )  # fmt: skip
        return own_literals, literals

    def _family(self, number: int) -> Int64s:
        """Return a set and the sets of the neurons whose activations correlate with its neuron's."""
        neuron, pole = neuron_and_pole(number)
        span = slice(*np.searchsorted(self.pairs.neuron, [neuron, neuron + 1]))
        other = np.where(self.pairs.correlation[span] > 0, pole, 1 - pole)
        return np.append(set_number(self.pairs.other[span], other), number)


def _term(row: Row, nuisance: bool = False) -> Term:
    """Return a row of `explanation_terms` as a literal that can be put into words."""
    names = ("kind", "pattern", "items", "negated", "weight", "share", "baseline_share", "gain")
    return Term(**{name: row[name] for name in names}, nuisance=nuisance)


def _towards(row: Row, pole: str) -> Term:
    """Return a literal of an activation model, negated if lacking it moves the activation towards a pole."""
    return _term(row | {"negated": row["negated"] == (pole == "top")})


def read_areas(store: Store, mining: Mining) -> dict[int, Interval]:
    """Return `auc` of `scores/` by set number; empty if the run has no scores."""
    if mining.options["no_scores"]:
        return {}
    ends = ["auc", "auc_low", "auc_high"]
    rows = read_table(store, "scores", columns=["layer", "unit", "pole", *ends])
    values = [rows[name].to_numpy(zero_copy_only=False).astype(np.float64).tolist() for name in ends]
    numbers = mining.neurons.set_numbers(rows).tolist()
    return {number: Interval(*area) for number, *area in zip(numbers, *values, strict=True)}


def beaten_folds(folded: Folded, matched: Folded | None, chance: float) -> int:
    """Return in how many folds the card's F1 is above chance, the nuisance card's and the matched set's card's."""
    f1, nuisance = folded.asked.f1_by_fold(folded.size), folded.asked.f1_by_fold(0)
    like = nuisance if matched is None else matched.asked.f1_by_fold(matched.size)
    with np.errstate(invalid="ignore"):
        return int(np.count_nonzero(f1 > np.fmax(np.fmax(nuisance, like), chance)))
