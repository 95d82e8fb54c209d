"""Everything that is needed to explain ranges of neurons: literals, the sentences that have them, hubs, families."""

from collections.abc import Iterable, Iterator
from functools import lru_cache, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops import schema
from ops.arrays import Bools, Int64s
from ops.compare.activation_vectors import layer_activations, sampled_sentences
from ops.explain.control_rows import BASES, MODELS, control_rows
from ops.explain.controlled_units import Controls
from ops.explain.examples import examples
from ops.explain.families import Pairs, families
from ops.explain.held_out_scores import resampling
from ops.explain.hubs import Hubs
from ops.explain.known_literals import KnownLiterals, beside, one_after_another
from ops.explain.literals import Literals, plainness
from ops.explain.own_words import OwnWords
from ops.explain.range_explainer import Found, RangeExplainer, SampleModels
from ops.explain.range_model import RangeFitter
from ops.explain.set_explainer import DRAWN_DOCUMENTS, Known, Others, Own, SetExplainer, places_among
from ops.explain.wording import PatternRules
from ops.mine.mining import Mining
from ops.mine.pattern_kinds import SequenceKind
from ops.patterns.occurrences import Occurrences
from ops.patterns.sequences import Sequences
from ops.sentences.store import SentenceStore
from ops.sentences.winner_sets import read_winner_sets
from ops.storage.store import Store
from ops.topk.activation_sample import is_sparse
from ops.topk.neurons import Neurons, neuron_and_pole, set_number

HUB = "wins nearly everywhere"


def known_rows(sentences: SentenceStore, sampled: Int64s) -> Int64s:
    """Return the rows that all neurons are compared with, ascending: the baseline and the activation sample."""
    known = np.array(sentences.baseline)
    known[sentences.rows(sampled)] = True
    return np.flatnonzero(known)


class ExplainedNeurons:
    """Explains ranges of a run's neurons.

    Args:
        store: the run's folder.
        mining: the annotated sentences, with words in lower case.
        pool: the literals.
        runs: for each of the consecutive blocks of known sentences, which of its sentences have each literal, and its
            number of sentences.
        hubs: the sentences that win for nearly every neuron.
        pairs: the pairs of neurons whose activations correlate.
        scored: number of scored sentences of the corpus, N.
        seed: the seed of all draws.
        literals, card_literals: maximum number of literals in a range model and on a score card.
        controls: which controls are fitted.
        rotates: whether a random rotation of each layer is one of the controls.
    """

    def __init__(
        self, store: Store, mining: Mining, pool: pa.Table, runs: Iterable[tuple[Occurrences, int]], hubs: Hubs,
        pairs: Pairs, scored: int, seed: int, literals: int, card_literals: int, controls: Controls, rotates: bool,
    ) -> None:  # fmt: skip
        self.store, self.mining, self.hubs, self.pairs, self.seed = store, mining, hubs, pairs, seed
        sentences = mining.sentences
        self.literals = Literals(pool, mining.text, mining.kinds)
        ids = sampled_sentences(store)
        self.rows, sampled = known_rows(sentences, ids), sentences.rows(ids)
        matrix = KnownLiterals(one_after_another(runs), len(self.rows))
        self.document = np.asarray(sentences.doc).astype(np.int64)
        self.held_out = np.asarray(sentences.held_out)
        self.known = self._known(self.rows, np.asarray(sentences.baseline)[self.rows], matrix)
        resamples = resampling(min(sentences.documents, DRAWN_DOCUMENTS), seed)
        others = Others(self.literals.find, self.document, self.held_out)
        own = self.literals.nuisance, self.literals.plainness
        sets = SetExplainer(self.known, others, *own, scored, resamples, card_literals)
        sample = None
        if len(sampled):
            inside = matrix.of(np.isin(self.rows, sampled))
            known = self._known(sampled, np.ones(len(sampled), np.bool_), inside)
            place = np.full(len(self.rows), -1, np.int32)
            place[places_among(self.rows, sampled)[0]] = np.arange(len(sampled), dtype=np.int32)
            fitter = RangeFitter(inside.found, own[0], known.held_out, known.document, seed, plainness=own[1])
            sample = SampleModels(
                fitter, SetExplainer(known, others, *own, len(sampled), resamples, card_literals), sampled,
                lru_cache(1)(partial(layer_activations, store)), seed, literals, rotates, place, is_sparse(store),
            )  # fmt: skip
        self.explainer = RangeExplainer(
            self.literals,
            sets,
            sample,
            mining.neurons,
            sentences.sent_id,
            controls,
            PatternRules.of(mining.options),
        )
        self.sampled = ids
        self._counted = self.known.weighs & ~self.known.held_out
        self.words: OwnWords | None = None
        word = mining.kinds.get("word")
        if isinstance(word, SequenceKind):
            pool_words = self.literals.patterns("word")
            options = mining.options
            self.words = OwnWords(
                word, self.rows, pool_words, options["min_count"], options["productivity"], seed
            )  # fmt: skip

    def explain(self, numbers: Int64s) -> dict[str, pa.Table]:
        """Return the rows of some neurons in `explanations` (without families), `explanation_terms` and `examples`.

        Also return `values`, which the controls summarise.
        """
        assert self.mining.held_out is not None
        tables = self.explainer.explain(numbers, list(self._found(numbers)), self.mining.held_out)
        examples = pa.concat_tables([self._examples(numbers), tables.pop("negatives")])
        return tables | {"examples": schema.table("examples", examples)}

    def _known(self, rows: Int64s, weighs: Bools, matrix: KnownLiterals) -> Known:
        return Known(rows, weighs, self.document[rows], self.held_out[rows], matrix)

    def _found(self, numbers: Int64s) -> Iterator[Found]:
        """Yield the sets of winners of some neurons, with the literals that belong to each set alone."""
        for number, winners in read_winner_sets(self.store, self.mining.neurons, self.mining.sentences, numbers).each():
            yield Found(number, winners, *self._own(number, winners))

    def _own(self, number: int, winners: Int64s) -> tuple[Own, list[tuple[str, str, list[str]]]]:
        """Return the literals that belong to one set alone: hubs, and words that are not in the pool."""
        hubs, patterns = self.hubs.of(self._family(number)), Sequences.from_lists([])
        known = _found_at(places_among(self.rows, hubs)[0])
        texts, items = [HUB], [[HUB]]
        if self.words is not None:
            counted = self._counted.copy()
            counted[places_among(self.rows, winners)[0]] = False
            patterns = self.words.mine(winners[~self.held_out[winners]], counted, number)
            found, lists = self.words.texts_and_items(patterns)
            texts, items = texts + found, items + lists
            known = beside(known, self.words.index.find(patterns))

        def of_rows(rows: Int64s) -> Occurrences:
            are_hubs = _found_at(np.flatnonzero(np.isin(rows, hubs)))
            return are_hubs if self.words is None else beside(are_hubs, self.words.kind.finder(patterns)(rows))

        kinds = ["hub"] + ["word"] * len(patterns)
        plain = plainness(kinds, items, texts, len(self.literals))
        own = Own(np.array(kinds) == "hub", plain, known, of_rows)
        return own, list(zip(kinds, texts, items, strict=True))

    def _family(self, number: int) -> Int64s:
        """Return a set and the sets of the neurons whose activations correlate with its neuron's."""
        neuron, pole = neuron_and_pole(number)
        own = slice(*np.searchsorted(self.pairs.neuron, [neuron, neuron + 1]))
        other = np.where(self.pairs.correlation[own] > 0, pole, 1 - pole)
        return np.append(set_number(self.pairs.other[own], other), number)

    def _examples(self, numbers: Int64s) -> pa.Table:
        sample = self.explainer.sample
        tables: list[pa.Table] = []
        if sample is None:
            return schema.table("examples", [])
        for layer, _, units in self.explainer.layers(numbers):
            found = examples(sample.layer(layer)[:, units], self.sampled, self.seed)
            rows = len(found.unit)
            columns = {
                "layer": pa.repeat(layer, rows),
                "unit": units[found.unit].astype(np.int32),
                "pole": pa.nulls(rows, pa.string()),
                "quantile": found.quantile,
                "rank": pa.nulls(rows, pa.int32()),
                "sent_id": found.sent_id,
                "activation": found.activation,
            }
            tables.append(schema.table("examples", columns))
        return schema.concatenate("examples", tables)


def _found_at(places: Int64s) -> Occurrences:
    return Occurrences(places.astype(np.int32), np.array([0, len(places)], np.int64))


def with_families(rows: pa.Table, neurons: Neurons, pairs: Pairs) -> tuple[pa.Table, pa.Table]:
    """Return the rows of `explanations` with their families, and the rows of `families`."""
    number, pole = neuron_and_pole(neurons.set_numbers(rows))
    f1 = rows["f1"].to_numpy(zero_copy_only=False).astype(np.float64)
    found = families(number, pole, f1, pairs)
    columns = {name: rows[name] for name in rows.column_names} | {"family": pa.array(found.family)}
    members = {**columns, "correlation": pa.array(found.correlation), "is_leader": pa.array(found.is_leader)}
    return schema.table("explanations", columns), schema.table("families", members)


def all_controls(values: pa.Table) -> pa.Table:
    """Return the rows of `explain/controls`, computed from the measures of all neurons and axes."""
    tables = []
    for layer in sorted(values["layer"].unique().to_pylist()):
        own = values.filter(pc.equal(values["layer"], layer))
        for basis in BASES:
            for model in MODELS:
                some = own.filter(pc.and_(pc.equal(own["basis"], basis), pc.equal(own["model"], model)))
                measures = {
                    name: some.filter(pc.equal(some["measure"], name))["value"].to_numpy()
                    for name in some["measure"].unique().to_pylist()
                }
                tables.append(control_rows(layer, basis, model, measures))
    return schema.concatenate("explain/controls", tables)
