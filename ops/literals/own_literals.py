"""Word patterns of one neuron's own winners that too few neurons share to be in the pool."""

from functools import lru_cache

import numpy as np

from ops.arrays import Bools, Int64s
from ops.literals.incidence import incidence, incidence_of_words
from ops.literals.literal import Literal
from ops.mine.candidates import least_support
from ops.mine.pattern_kinds import SequenceKind
from ops.mine.sentence_sets import SentenceSets
from ops.patterns import count_sequences
from ops.patterns.mined import NEVER
from ops.patterns.occurrences import Occurrences
from ops.patterns.sequence_trie import SequenceTrie
from ops.patterns.sequences import Sequences
from ops.sampling import OWN_WINNERS, draw
from ops.statistics.association import signed_g2

MOST_WINNERS, TOP = 1_000, 30
_NAMES = 1 << 16  # words whose spelling is cached
# A rare word occurs in at most this number, or this share, of the baseline's sentences, whichever is larger.
RARE_COUNT, RARE_SHARE = 1_000, 0.01


class OwnWords:
    """Finds word patterns that a neuron's own winners have and the pool lacks.

    The list is made from all winners; which of its patterns a card has is chosen by the training folds alone.

    A pattern needs a word that is rare in the baseline, because patterns of frequent words alone are not specific to
    one neuron. As in `patterns/`, a pattern of several words must have more lift than its rarest word by itself.

    Args:
        kind: the word patterns, with words in lower case and the run's rules for gaps and support.
        baseline: the rows of the baseline.
        pool: the word patterns of the pool, as codes.
        min_count: minimum number of winners with a pattern, whatever their share.
        productivity: minimum ratio of a pattern's lift to the lift of its rarest word; 0 for no minimum.
        seed: the seed of the draw of winners, which is made if there are more than 1,000.

    Attributes:
        having: which of the baseline's sentences have each word, `[words, baseline]`.
    """

    def __init__(
        self, kind: SequenceKind, baseline: Int64s, pool: Sequences, min_count: int, productivity: float, seed: int
    ) -> None:
        self.kind, self._min_count, self._productivity, self._seed = kind, min_count, productivity, seed
        self._words, names = kind.view.words(baseline), len(kind.view.word_names)
        self.having = incidence_of_words(self._words, names)
        self._rare = max(RARE_COUNT, int(RARE_SHARE * len(baseline)))
        self._pool = SequenceTrie.build(pool)
        self._name = lru_cache(_NAMES)(kind.view.word_names.__getitem__)

    def literals(self, patterns: Sequences) -> list[Literal]:
        """Return patterns as literals; for few patterns this is faster than the method of the kind itself."""
        items = [[self._name(code) for code in codes] for codes in patterns.to_lists()]
        return [Literal("word", " ".join(words), words) for words in items]

    def mine(self, winners: Int64s, counted: Bools, number: int) -> tuple[Sequences, Occurrences]:
        """Return the 30 patterns of highest G2 above 0, best first, as codes, and which of the baseline have them.

        Ties go to the pattern with more support, then to the shorter one.

        Args:
            winners: rows of the neuron-pole's winners, distinct. At most 1,000 are mined.
            counted: the sentences of the baseline that are not winners, `[baseline]`.
            number: the number of the draw; the sample depends on it and on the seed.
        """
        rows = np.sort(winners[draw(len(winners), MOST_WINNERS, self._seed, OWN_WINNERS, number)])
        members = Sequences(rows.astype(np.int32), np.array([0, len(rows)]))
        sets = SentenceSets.gather(np.array([number]), members, self.kind.view.store)
        least = least_support(self.kind.min_support, len(rows), self._min_count)
        mined = self.kind.mine(sets, np.array([[least, NEVER, NEVER]], np.int64))
        words, at_most = self._rarest(mined.patterns)
        # Each word of a pattern is mined too, as a pattern of its own.
        rare = np.flatnonzero(at_most <= self._rare)
        patterns, support, words = mined.patterns.take(rare), mined.counts["support"][rare], words[rare]
        single = np.flatnonzero(patterns.lengths == 1)
        single = single[np.argsort(words[single])]
        alone = single[np.searchsorted(words[single], words)]
        occurrences = count_sequences.occurrences(self._words, patterns, self.kind.max_gap)
        count, rest = incidence(occurrences, len(counted)) @ counted.astype(np.int64), int(np.count_nonzero(counted))
        good = self._pool.find(patterns) < 0
        if self._productivity:
            lift = (support + 0.5) * (count[alone] + 0.5) / (self._productivity * (support[alone] + 0.5)) - 0.5
            good &= (patterns.lengths == 1) | (count <= lift)
        g2 = np.where(good, signed_g2(support, len(rows), count, rest), 0.0)
        order = np.lexsort((patterns.lengths, -support, -g2))[:TOP]
        best = order[g2[order] > 0]
        chosen = Sequences(occurrences.sentences, occurrences.offsets).take(best)
        return patterns.take(best), Occurrences(chosen.items, chosen.offsets)

    def _rarest(self, patterns: Sequences) -> tuple[Int64s, Int64s]:
        """Return the rarest word of each pattern, the first one if several tie, and how many sentences have it."""
        ends = self.having.indptr
        having = ends[patterns.items + 1] - ends[patterns.items]
        order = np.lexsort((np.arange(len(having)), having, np.repeat(np.arange(len(patterns)), patterns.lengths)))
        first = order[patterns.offsets[:-1]]
        return patterns.items[first].astype(np.int64), having[first]
