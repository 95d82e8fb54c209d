"""Word patterns of one neuron's own winners that too few neurons share to be in the pool."""

from functools import lru_cache

import numpy as np

from ops.arrays import Bools, Int32s, Int64s
from ops.compiled import compiled
from ops.explain.literal import Literal
from ops.mine.candidates import least_support
from ops.mine.pattern_kinds import SequenceKind
from ops.mine.sentence_sets import SentenceSets
from ops.mine.value_counts import distinct_values
from ops.patterns.occurrences import Occurrences
from ops.patterns.sequence_trie import SequenceTrie
from ops.patterns.sequences import Sequences
from ops.sampling import OWN_WINNERS
from ops.statistics.association import signed_g2

MOST_WINNERS, TOP = 1_000, 30
_NAMES = 1 << 16  # words whose spelling is cached
# A rare word occurs in at most this number, or this share, of the baseline's sentences, whichever is larger.
RARE_COUNT, RARE_SHARE = 1_000, 0.01


class WordIndex:
    """Sentences as words, and which sentences have each word.

    A pattern is only searched for in the sentences that contain its rarest word.

    Args:
        words: the words of each sentence, as codes.
        names: number of distinct words; every code is below it.
        max_gap: maximum number of words skipped between two items of a pattern; None for no limit.
    """

    def __init__(self, words: Sequences, names: int, max_gap: int | None) -> None:
        self._words, self._gap = words, -1 if max_gap is None else max_gap
        once = distinct_values(words, names)
        sentence = np.repeat(np.arange(len(words), dtype=np.int32), once.lengths)
        self._sentences = sentence[np.argsort(once.items, kind="stable")]
        self._starts = np.concatenate(([0], np.cumsum(np.bincount(once.items, minlength=names))))

    def rarest(self, patterns: Sequences) -> tuple[Int64s, Int64s]:
        """Return the rarest word of each pattern, the first one if several tie, and how many sentences have it."""
        words = _rarest_words(patterns.items, patterns.offsets, self._starts)
        return words, self._starts[words + 1] - self._starts[words]

    def count(self, patterns: Sequences, counted: Bools, most: Int64s) -> Int64s:
        """Return how many of the sentences that `counted [sentences]` marks have each pattern, `[patterns]`.

        Counting stops as soon as a pattern's count exceeds its `most [patterns]`. The returned count is then only known
        to be above `most`.
        """
        return self._search(patterns, counted, most, np.zeros(0, np.int32))

    def find(self, patterns: Sequences) -> Occurrences:
        """Return which sentences have each pattern."""
        at_most = self.rarest(patterns)[1]
        found = np.empty(int(at_most.sum()), np.int32)
        counts = self._search(patterns, np.ones(len(self._words), np.bool_), at_most, found)
        return Occurrences(found[: counts.sum()].copy(), np.concatenate(([0], np.cumsum(counts))))

    def _search(self, patterns: Sequences, counted: Bools, most: Int64s, found: Int32s) -> Int64s:
        own = self._words.items, self._words.offsets, self._sentences, self._starts
        return _search_sentences(patterns.items, patterns.offsets, *own, self._gap, counted, most, found)


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
        seed: the seed of the draw of winners, which is made if there are more than `most_winners`.
        most_winners: maximum number of winners to mine.
        top: maximum number of patterns to return.

    Attributes:
        index: the index of the baseline's words. Its sentences are indices into `baseline`.
    """

    def __init__(
        self, kind: SequenceKind, baseline: Int64s, pool: Sequences, min_count: int, productivity: float, seed: int,
        most_winners: int = MOST_WINNERS, top: int = TOP,
    ) -> None:  # fmt: skip
        self.kind, self._min_count, self._productivity, self._seed = kind, min_count, productivity, seed
        self._most, self._top = most_winners, top
        self._rare = max(RARE_COUNT, int(RARE_SHARE * len(baseline)))
        self.index = WordIndex(kind.view.words(baseline), len(kind.view.word_names), kind.max_gap)
        self._pool = SequenceTrie.build(pool)
        self._name = lru_cache(_NAMES)(kind.view.word_names.__getitem__)

    def literals(self, patterns: Sequences) -> list[Literal]:
        """Return patterns as literals; for few patterns this is faster than the method of the kind itself."""
        items = [[self._name(code) for code in codes] for codes in patterns.to_lists()]
        return [Literal("word", " ".join(own), own) for own in items]

    def mine(self, winners: Int64s, counted: Bools, number: int) -> Sequences:
        """Return the patterns with the highest G2 above 0, best first, as codes.

        Ties go to the pattern with more support, then to the shorter one.

        Args:
            winners: rows of the neuron-pole's winners, distinct. At most `most_winners` are mined.
            counted: the sentences of the baseline that are not winners, `[baseline]`.
            number: the number of the draw; the sample depends on it and on the seed.
        """
        own = np.asarray(winners)
        if len(own) > self._most:
            own = np.random.default_rng([self._seed, OWN_WINNERS, number]).choice(own, self._most, replace=False)
        members = Sequences(np.sort(own).astype(np.int32), np.array([0, len(own)], np.int64))
        sets = SentenceSets.gather(np.array([number]), members, self.kind.view.store)
        least = least_support(self.kind.min_support, len(own), self._min_count)
        mined = self.kind.mine(sets, np.array([least], np.int64))
        word, at_most = self.index.rarest(mined.patterns)
        kept = np.flatnonzero((at_most <= self._rare) & (self._pool.find(mined.patterns) < 0))
        if not len(kept):  # the pool of a small corpus has nearly all patterns
            return mined.patterns.take(kept)
        # Each word of a pattern is mined too, as a pattern of its own.
        single = np.flatnonzero(mined.patterns.lengths == 1)
        single = single[np.argsort(mined.patterns.items[mined.patterns.offsets[single]])]
        words = mined.patterns.items[mined.patterns.offsets[single]]
        support = mined.counts["support"]
        of_word = support[single][np.searchsorted(words, word[kept])]
        return self._best(mined.patterns.take(kept), support[kept], word[kept], of_word, len(own), counted)

    def _best(
        self, patterns: Sequences, support: Int64s, word: Int64s, of_word: Int64s, n: int, counted: Bools
    ) -> Sequences:
        """Return the patterns that are most over-represented among the winners, by G2.

        Args:
            patterns: of the set's words.
            support: number of winners that have each pattern, `[patterns]`.
            word: the rarest word of each pattern, `[patterns]`.
            of_word: number of winners that have this word, `[patterns]`.
            n: number of winners.
            counted: whether each sentence is one of the others that patterns are compared with.
        """
        rest = int(np.count_nonzero(counted))
        rare, which = np.unique(word, return_inverse=True)
        singles = Sequences(rare.astype(np.int32), np.arange(len(rare) + 1))
        elsewhere = self.index.count(singles, counted, np.full(len(rare), rest))[which]
        is_single = patterns.lengths == 1
        # At least `top` single words reach this G2, so counting stops for a pattern that cannot reach it.
        good = np.sort(signed_g2(support[is_single], n, elsewhere[is_single], rest))
        bar = max(float(good[-self._top]) if len(good) > self._top else 0.0, 0.0)
        kept = np.flatnonzero(signed_g2(support, n, 0, rest) >= bar)
        patterns, support, elsewhere, of_word = patterns.take(kept), support[kept], elsewhere[kept], of_word[kept]
        most = _most_at(bar, support, n, rest)
        if self._productivity:
            enough = (support + 0.5) * (elsewhere + 0.5) / (self._productivity * (of_word + 0.5)) - 0.5
            most = np.where(is_single[kept], most, np.minimum(most, np.floor(enough).astype(np.int64)))
        count = self.index.count(patterns, counted, most)
        found = np.flatnonzero(count <= most)
        g2 = signed_g2(support[found], n, count[found], rest)
        found, g2 = found[g2 > 0], g2[g2 > 0]
        order = np.lexsort((patterns.lengths[found], -support[found], -g2))
        return patterns.take(found[order[: self._top]])


def _most_at(bar: float, support: Int64s, n: int, rest: int) -> Int64s:
    """Return how many other sentences may at most have a pattern for its G2 to be at least `bar`, `[patterns]`.

    `support` of the `n` winners have the pattern, and there are `rest` other sentences. Its G2 must be at least `bar`
    if none of these has it.
    """
    each, which = np.unique(support, return_inverse=True)
    low, high = np.zeros(len(each), np.int64), np.full(len(each), rest)
    while np.any(low < high):
        middle = (low + high + 1) // 2
        good = signed_g2(each, n, middle, rest) >= bar
        low, high = np.where(good, middle, low), np.where(good, high, middle - 1)
    return low[which]


@compiled
def _has(pattern: Int32s, words: Int32s, gap: int, last: Int64s) -> bool:
    """Return whether a sentence has a pattern; `last` is scratch space with a number for each item."""
    last[: pattern.size] = -1
    for place in range(words.size):
        # Items are visited from the last to the first, so that each item sees only the matches of earlier words. The
        # latest match of an item is enough.
        for item in range(pattern.size - 1, -1, -1):
            if words[place] != pattern[item]:
                continue
            if item == 0 or (last[item - 1] >= 0 and (gap < 0 or place - last[item - 1] <= gap + 1)):
                if item == pattern.size - 1:
                    return True
                last[item] = place
    return False


@compiled
def _rarest(pattern: Int32s, starts: Int64s) -> int:
    best = pattern[0]
    for word in pattern:
        if starts[word + 1] - starts[word] < starts[best + 1] - starts[best]:
            best = word
    return int(best)


@compiled
def _rarest_words(items: Int32s, offsets: Int64s, starts: Int64s) -> Int64s:
    words = np.empty(offsets.size - 1, np.int64)
    for number in range(offsets.size - 1):
        words[number] = _rarest(items[offsets[number] : offsets[number + 1]], starts)
    return words


@compiled
def _search_sentences(
    items: Int32s,
    offsets: Int64s,
    words: Int32s,
    ends: Int64s,
    sentences: Int32s,
    starts: Int64s,
    gap: int,
    counted: Bools,
    most: Int64s,
    found: Int32s,
) -> Int64s:
    """Count the sentences that have each pattern, and write them to `found`, by pattern, while it has room."""
    counts, free = np.zeros(offsets.size - 1, np.int64), 0
    last = np.empty(max(np.max(np.diff(offsets)), 1) if offsets.size > 1 else 1, np.int64)
    for number in range(offsets.size - 1):
        pattern = items[offsets[number] : offsets[number + 1]]
        rarest = _rarest(pattern, starts)
        for place in range(starts[rarest], starts[rarest + 1]):
            sentence = sentences[place]
            if not counted[sentence]:
                continue
            if pattern.size == 1 or _has(pattern, words[ends[sentence] : ends[sentence + 1]], gap, last):
                counts[number] += 1
                if free < found.size:
                    found[free] = sentence
                    free += 1
                if counts[number] > most[number]:
                    break
    return counts
