"""The compiled choice of a score card's literals: one call for each set of winners, on flat arrays.

It consists of the gain of a literal, cells of sentences, their logistic regression, near-copies, and the steps of the
choice. `cells.py`, `screening.py` and `score_card.py` explain these terms.
"""

from typing import NamedTuple, Self

import numpy as np

from ops.arrays import Bools, Float32s, Float64s, Int32s, Int64s, UInt8s
from ops.compiled import compiled
from ops.patterns.occurrences import Occurrences

NEAR = 0.9  # Jaccard similarity from which two literals are near-copies
_DEVIATION = 5.0  # standard deviation of the Gaussian prior of a weight, in log-odds
_STEPS = 100
_AT_ONCE = 8  # literals split into cells at a time, so that there are at most 256 cells
_TRIED = 4  # literals that are fitted at a time
_NEARLY = 1e-6  # nats, more than the rounding error of a gain
_CHECKED = 12  # literals without enough evidence, after which the choice ends


class Having(NamedTuple):
    """Which of n sentences have each of L literals, in parts that need not be joined for each set.

    The first literals are some of a pool, and the last ones belong to the set alone. The first sentences are known.
    Those after them, if any, are the set's further sentences.

    Attributes:
        pool, pool_starts: the known sentences with each literal of the pool, and where each literal's sentences start.
        which: the literals of the pool that are among the L.
        own, own_starts: the known sentences with each of the set's own literals.
        further, further_starts: the further sentences with each of the L literals, counted from 0; empty if there are
            none.
        known: number of known sentences.
    """

    pool: Int32s
    pool_starts: Int64s
    which: Int64s
    own: Int32s
    own_starts: Int64s
    further: Int32s
    further_starts: Int64s
    known: int

    @classmethod
    def of(cls, pool: Occurrences, which: Int64s, own: Occurrences, further: Occurrences | None, known: int) -> Self:
        """Combine some literals of a pool, the literals of one set, and the set's further sentences."""
        more = Occurrences(np.zeros(0, np.int32), np.zeros(1, np.int64)) if further is None else further
        return cls(
            pool.sentences, pool.offsets, which, own.sentences, own.offsets, more.sentences, more.offsets, known
        )  # fmt: skip


@compiled
def _having(having: Having, literal: int) -> Int32s:
    """Return the sentences that have a literal, ascending."""
    of_pool = having.which.size
    if literal < of_pool:
        place = having.which[literal]
        known = having.pool[having.pool_starts[place] : having.pool_starts[place + 1]]
    else:
        place = literal - of_pool
        known = having.own[having.own_starts[place] : having.own_starts[place + 1]]
    if not having.further.size:
        return known
    first, stop = having.further_starts[literal], having.further_starts[literal + 1]
    every = np.empty(known.size + stop - first, np.int32)
    every[: known.size] = known
    for place in range(first, stop):
        every[known.size + place - first] = having.further[place] + having.known
    return every


@compiled
def _divergence(a: float, p: float, n: float) -> float:
    """Return n times the divergence of a / n from p, in nats."""
    q = a / n
    found = 0.0
    if a > 0:
        found = a * np.log(q / p) if p > 0 else np.inf
    if n > a:
        found += (n - a) * np.log1p((p - q) / (1 - p)) if p < 1 else np.inf
    return found


@compiled
def _gain(
    a: float, e: float, n: float, all_winners: float, all_expected: float, all_sentences: float, half: float
) -> float:
    """Return the gain of one literal, as defined in `likelihood_gain`."""
    if n <= 0:
        return 0.0
    chance = e / n
    gain = _divergence(a, chance, n + half) + (half * np.log1p(-chance) if half else 0.0)
    rest = all_sentences - n
    if rest > 0:
        gain += _divergence(all_winners - a, min(max((all_expected - e) / rest, 0.0), 1.0), rest)
    return gain


@compiled
def _bound(a: float, e: float, n: float, winners: float, total: float, half: float) -> float:
    """Return an upper bound on the gain of a literal.

    It uses log x <= (x - 1) / sqrt(x) for x >= 1, log x <= 2 (x - 1) / (x + 1) for x < 1, and log(1 + x) <= x. A
    divergence is at most that of Pearson's chi-square.
    """
    p, far = e / n, total - n
    if not (0 < p < 1 and far > 0):
        return np.inf
    wider = n + half
    ratio, excess = a / (wider * p), (a - wider * p) / (wider * (1 - p))
    log = (ratio - 1) / np.sqrt(ratio) if ratio > 1 else 2 * (ratio - 1) / (ratio + 1)
    other = min(max((winners - e) / far, 0.0), 1.0)
    if not 0 < other < 1:
        return np.inf
    outside = winners - a - far * other
    bound = a * log - (wider - a) * excess + outside * outside / (far * other * (1 - other))
    return bound + 1e-9 * (1 + abs(bound))


@compiled
def _is_worse(gain: float, place: int, other_gain: float, other_place: int) -> bool:
    return gain < other_gain or (gain == other_gain and place > other_place)


@compiled
def _put(heap: Float64s, places: Int64s, size: int, gain: float, place: int) -> int:
    """Push a gain on a heap with the worst on top and return the new size. A full heap replaces its worst entry.

    Of equal gains, the one with the larger index is worse.
    """
    if size < heap.size:
        at = size
        while at and _is_worse(gain, place, heap[(at - 1) // 2], places[(at - 1) // 2]):
            heap[at], places[at] = heap[(at - 1) // 2], places[(at - 1) // 2]
            at = (at - 1) // 2
        heap[at], places[at] = gain, place
        return size + 1
    at = 0
    while 2 * at + 1 < size:
        below, right = 2 * at + 1, 2 * at + 2
        if right < size and _is_worse(heap[right], places[right], heap[below], places[below]):
            below = right
        if not _is_worse(heap[below], places[below], gain, place):
            break
        heap[at], places[at] = heap[below], places[below]
        at = below
    heap[at], places[at] = gain, place
    return size


@compiled
def _absent(least: float, spread: float, rate: float, half: float, total: float) -> float:
    """Return the smallest weight at which Pearson's chi-square of a literal without winners can reach `least`."""
    q = least * spread / (rate * rate)
    return float(total * (q - half) / (total - half + q) * (1 - 1e-9)) if q > half else 0.0


@compiled
def _asked(a: Int64s, c: Float64s, absent: bool, rare: float) -> Int64s:
    """Return the indices of the literals without winners whose weight is at least `rare`, or of those with winners."""
    found, size = np.empty(a.size, np.int64), 0
    for literal in range(a.size):
        found[size] = literal
        size += ((a[literal] == 0) == absent) & (c[literal] >= rare)
    return found[:size]


@compiled
def largest(
    a: Int64s, c: Float64s, model: Float64s, winners: float, rest: float, half: float, most: int
) -> tuple[Int64s, Float64s]:
    """Return the indices of the largest gains and the gains themselves, unordered. Ties go to the lower index.

    Most literals are rejected without computing a logarithm. Those that no winner has are tried last, because few of
    them are common enough to matter by then.

    Args:
        a, c: number of winners, and weight of the other sentences, that have each literal, `[L]`.
        model: how many winners with each literal a model expects, `[L]`; empty for a model without any literal.
        winners, rest: the number of winners and the weight of the other sentences, in total.
        half: half the weight of a baseline sentence.
        most: maximum number of gains to return.
    """
    total = winners + rest
    rate = winners / total
    spread = rate * (1 - rate) * (1 - 1e-9)
    heap, places, size = np.empty(most), np.empty(most, np.int64), 0
    for absent in (False, True):
        rare = _absent(heap[0], spread, rate, half, total) if absent and size == most and not model.size else 0.0
        for literal in _asked(a, c, absent, rare):
            n = a[literal] + c[literal]
            if n <= 0:
                continue
            least = heap[0] if size == most else 1e-9
            if model.size:
                e = model[literal]
            else:
                # Pearson's chi-square, without its division, decides nearly all of them.
                e, wider, far = n * rate, n + half, total - n
                inside, outside = a[literal] - wider * rate, a[literal] - e
                if inside * inside * far + outside * outside * wider < least * spread * wider * far:
                    continue
            if _bound(float(a[literal]), e, n, winners, total, half) < least:
                continue
            gain = _gain(float(a[literal]), e, n, winners, winners, total, half)
            if gain > least or (size == most and gain == least and literal < places[0]):
                size = _put(heap, places, size, gain, literal)
    return places[:size], heap[:size]


@compiled
def _value(score: Float64s, positive: Float64s, negative: Float64s, beta: Float64s, ridge: float) -> float:
    value = 0.0
    for cell in range(score.size):
        s = score[cell]
        tail = np.log1p(np.exp(-abs(s)))
        value -= positive[cell] * (tail + max(-s, 0.0)) + negative[cell] * (tail + max(s, 0.0))
    for weight in beta[1:]:
        value -= ridge / 2 * weight**2
    return value


@compiled
def _dot(a: Float64s, b: Float64s) -> float:
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@compiled
def _scores(design: Float64s, beta: Float64s) -> Float64s:
    scores = np.empty(design.shape[0])
    for row in range(scores.size):
        scores[row] = _dot(design[row], beta)
    return scores


@compiled
def _solved(square: Float64s, right: Float64s) -> Float64s:
    """Return the solution of a small symmetric positive definite system; overwrites the matrix.

    LAPACK calls would take most of the time of a fit.
    """
    solution = right.copy()
    for i in range(right.size):
        for j in range(i + 1, right.size):
            factor = square[j, i] / square[i, i]
            for k in range(i, right.size):
                square[j, k] -= factor * square[i, k]
            solution[j] -= factor * solution[i]
    for i in range(right.size - 1, -1, -1):
        for k in range(i + 1, right.size):
            solution[i] -= square[i, k] * solution[k]
        solution[i] /= square[i, i]
    return solution


@compiled
def _newton(
    design: Float64s, positive: Float64s, negative: Float64s, start: Float64s, ridge: float, steps: int
) -> tuple[Float64s, float]:
    size = start.size
    beta = start.copy()
    score = _scores(design, beta)
    value = _value(score, positive, negative, beta, ridge)
    for _ in range(steps):
        gradient, curvature = np.zeros(size), np.zeros((size, size))
        for cell in range(score.size):
            total = positive[cell] + negative[cell]
            chance = 1 / (1 + np.exp(-score[cell]))
            spread = total * chance * (1 - chance)
            # If scores are far below 0, subtracting large numbers would lose all precision.
            slope = positive[cell] * (1 - chance) - negative[cell] * chance
            for i in range(size):
                if design[cell, i]:
                    gradient[i] += slope
                    for j in range(i + 1):
                        curvature[i, j] += spread * design[cell, j]
        curvature[0, 0] += 1e-9
        for i in range(size):
            if i:
                gradient[i] -= ridge * beta[i]
                curvature[i, i] += ridge
            for j in range(i):
                curvature[j, i] = curvature[i, j]
        step = _solved(curvature, gradient)
        near = _dot(gradient, step) < 1e-8  # twice the remaining gain in nats; the last step squares the error
        scale = 1.0
        while True:
            beta_new = beta + scale * step
            score_new = _scores(design, beta_new)
            value_new = _value(score_new, positive, negative, beta_new, ridge)
            if near or value_new >= value or scale < 1e-9:
                break
            scale /= 2
        beta, score, value = beta_new, score_new, value_new
        if near:
            break
    return beta, value


@compiled
def fit(has: Bools, winners: Float64s, rest: Float64s, half: float, start: Float64s) -> tuple[Float64s, float]:
    """Return the intercept and weights, `[1 + m]`, and the penalised log-likelihood, as `ops.explain.cells.fit_cells`.

    If `start` is empty, the intercept starts from the share of winners.
    """
    cells, literals = has.shape
    design, positive = np.zeros((cells + literals, 1 + literals)), np.zeros(cells + literals)
    negative = np.full(cells + literals, half)
    design[:, 0] = 1
    for cell in range(cells):
        positive[cell], negative[cell] = winners[cell], rest[cell]
        for literal in range(literals):
            design[cell, 1 + literal] = has[cell, literal]
    for literal in range(literals):
        design[cells + literal, 1 + literal] = 1
    first = start
    if not start.size:
        first = np.zeros(1 + literals)
        first[0] = np.log(winners.sum() / rest.sum())
    return _newton(design, positive, negative, first, 1 / _DEVIATION**2, _STEPS)


@compiled
def _fit_one_more(
    of: Int32s, has: Bools, winners: Float64s, rest: Float64s, own: Int32s, winner: UInt8s, each: float, start: Float64s
) -> tuple[Float64s, float]:
    cells, literals = has.shape
    more = np.zeros((2 * cells, literals + 1), np.bool_)
    counts = np.zeros((2, 2 * cells))
    for sentence in own:
        counts[winner[sentence], cells + of[sentence]] += 1
    there = 0
    for cell in range(2 * cells):
        without = cell < cells
        for kind in range(2):
            if without:
                counts[kind, cell] = (winners[cell] if kind else rest[cell]) - counts[kind, cells + cell]
        if counts[0, cell] + counts[1, cell] > 0:
            counts[:, there] = counts[:, cell]
            more[there, :literals], more[there, literals] = has[cell % cells], not without
            there += 1
    return fit(more[:there], counts[1, :there].copy(), counts[0, :there] * each, each / 2, start)


@compiled
def _design_effect(own: Int32s, of: Int32s, winner: UInt8s, chances: Float64s, document: Int64s) -> float:
    """Return the variance of a literal's slope by document divided by its variance by sentence, at least 1.

    The slope is the sum of (y - p) (x - m) over sentences. y and x say whether the sentence is a winner and whether it
    has the literal; p and m are the probabilities of these in its cell.
    """
    has, n, having = np.zeros(of.size, np.uint8), np.zeros(chances.size), np.zeros(chances.size)
    for sentence in own:
        has[sentence] = 1
        having[of[sentence]] += 1
    for cell in of:
        n[cell] += 1
    having /= n
    parts = np.empty((chances.size, 4))
    for cell in range(chances.size):
        for kind in range(4):
            parts[cell, kind] = ((kind & 1) - chances[cell]) * ((kind >> 1) - having[cell])
    sums, seen, squares = np.zeros(document.max() + 1), np.zeros(document.max() + 1, np.bool_), 0.0
    for sentence in range(of.size):
        part = parts[of[sentence], winner[sentence] + 2 * has[sentence]]
        squares += part * part
        sums[document[sentence]] += part
        seen[document[sentence]] = True
    documents = np.count_nonzero(seen)
    if documents < 2 or squares == 0:
        return np.inf
    return float(max(1.0, (sums * sums).sum() / squares * documents / (documents - 1)))


@compiled
def gains(
    a: Float64s, e: Float64s, n: Float64s, all_winners: float, all_expected: float, all_sentences: float, half: float
) -> Float64s:
    """Return the gain of each literal, as defined in `ops.explain.screening.likelihood_gain`."""
    found = np.empty(a.size)
    for i in range(a.size):
        found[i] = _gain(a[i], e[i], n[i], all_winners, all_expected, all_sentences, half)
    return found


@compiled
def _split(of: Int32s, sentences: Int32s, offsets: Int64s, literals: Int64s, cells: int) -> tuple[Int32s, Int64s]:
    """Return each sentence's new cell, and for each new cell its old one, followed by a bit for each literal."""
    new = np.empty(of.size, np.int32)
    for sentence in range(of.size):
        new[sentence] = of[sentence] << literals.size
    for i in range(literals.size):
        for pair in range(offsets[literals[i]], offsets[literals[i] + 1]):
            new[np.uint32(sentences[pair])] |= 1 << i
    seen = np.zeros(cells << literals.size, np.int32)
    for cell in new:
        seen[np.uint32(cell)] = 1
    used = np.flatnonzero(seen)
    for number in range(used.size):
        seen[used[number]] = number
    for sentence in range(new.size):
        new[sentence] = seen[np.uint32(new[sentence])]
    return new, used


@compiled
def cells_by(sentences: Int32s, offsets: Int64s, literals: Int64s, n: int) -> tuple[Int32s, Bools]:
    """Return the cell of each of n sentences by some literals, and which of these literals each cell has, in order."""
    of, has = np.zeros(n, np.int32), np.zeros((min(n, 1), 0), np.bool_)
    for first in range(0, literals.size, _AT_ONCE):
        some = literals[first : first + _AT_ONCE]
        of, used = _split(of, sentences, offsets, some, has.shape[0])
        before = has.shape[1]
        more = np.zeros((used.size, before + some.size), np.bool_)
        for cell in range(used.size):
            more[cell, :before] = has[used[cell] >> some.size]
            for i in range(some.size):
                more[cell, before + i] = (used[cell] >> i) % 2 == 1
        has = more
    return of, has


@compiled
def counts(of: Int32s, kind: UInt8s, cells: int, kinds: int) -> Int64s:
    """Return how many sentences of each kind `[n]`, from 0, are in each cell, `[cells, kinds]`."""
    found = np.zeros((cells, kinds), np.int64)
    for sentence in range(of.size):
        found[np.uint32(of[sentence]), kind[sentence]] += 1
    return found


@compiled
def _are_near(one: Int32s, other: Int32s, least: float) -> bool:
    """Return whether two literals have a Jaccard similarity of at least `least`, given their sentences."""
    total = one.size + other.size
    # If more sentences than this have only one of the two, they are not near-copies.
    most, differ, at = (1 - least) / (1 + least) * total + 1e-6, 0, 0
    for sentence in one:
        while at < other.size and other[at] < sentence:
            at += 1
            differ += 1
        if at < other.size and other[at] == sentence:
            at += 1
        else:
            differ += 1
        if differ > most:
            return False
    both = (total - differ - (other.size - at)) // 2
    return bool(total > 0 and both / (total - both) >= least)


@compiled
def shown_by(
    having: Having, order: Int64s, rank: Int64s, with_winners: Float64s, with_any: Int64s, literal: int, least: float,
    shown: Int64s,
) -> int:  # fmt: skip
    """Return the literal that represents a given one: itself, or the first representative that it nearly copies.

    Literals are visited in order. Each joins the first representative so far with which it has a Jaccard similarity of
    at least `least`, and otherwise represents itself. No two representatives are near-copies. A literal without a
    sentence has no copies.

    Args:
        having: the sentences with each literal.
        order, rank: all literals, the preferred ones first, and the position of each in that order, `[L]`.
        with_winners, with_any: how many winners, and how many sentences, have each literal, `[L]`.
        literal: the literal to look up.
        least: similarity of near-copies, above 0.
        shown: the representatives found so far, -1 for unknown; updated in place, `[L]`.
    """
    if shown[literal] >= 0:
        return int(shown[literal])
    size, found = with_any[literal], literal
    for other in order[: rank[literal]]:
        theirs = with_any[other]
        if min(size, theirs) < least * max(size, theirs) - 1e-6 or not min(size, theirs):
            continue
        if abs(with_winners[literal] - with_winners[other]) > (1 - least) / (1 + least) * (size + theirs) + 1e-6:
            continue
        if not _are_near(_having(having, literal), _having(having, other), least):
            continue
        if shown_by(having, order, rank, with_winners, with_any, other, least, shown) == other:
            found = other
            break
    shown[literal] = found
    return int(found)


class Half(NamedTuple):
    """The training half of a set of winners and of the sentences it is compared with: n sentences and L literals.

    Attributes:
        winner: 1 for a winner, `[n]`.
        document: code of each sentence's document, `[n]`.
        each: number of corpus sentences that one sentence outside the winners represents.
        winners, total: number of winners, and number of corpus sentences that all sentences represent.
        with_winners, with_any: number of winners, and of sentences of both kinds, that have each literal, `[L]`.
        standing: number of corpus sentences that the sentences with each literal represent, `[L]`.
        order, rank: the literals, sorted by nuisance first and then by plainness, and each one's position there, `[L]`.
        cost: the gain that each literal has to exceed, in nats, `[L]`.
    """

    winner: UInt8s
    document: Int64s
    each: float
    winners: int
    total: float
    with_winners: Float64s
    with_any: Int64s
    standing: Float64s
    order: Int64s
    rank: Int64s
    cost: Float64s


class Made(NamedTuple):
    """A card under construction.

    Attributes:
        chosen: its literals in the order of choice, `[m]`.
        of: the cell of each training sentence by these literals, `[n]`.
        has: which of them each cell has, `[cells, m]`.
        rest, winners: number of other sentences and of winners in each cell, `[cells]`.
        beta: intercept and weights of the fit at the corpus's own rate, `[1 + m]`.
        value: its penalised log-likelihood in nats.
    """

    chosen: Int64s
    of: Int32s
    has: Bools
    rest: Float64s
    winners: Float64s
    beta: Float64s
    value: float


@compiled
def _made(having: Having, half: Half, chosen: Int64s) -> Made:
    ends = np.zeros(chosen.size + 1, np.int64)
    for i in range(chosen.size):
        ends[i + 1] = ends[i] + half.with_any[chosen[i]]
    sentences = np.empty(ends[-1], np.int32)
    for i in range(chosen.size):
        sentences[ends[i] : ends[i + 1]] = _having(having, chosen[i])
    of, has = cells_by(sentences, ends, np.arange(chosen.size), half.winner.size)
    number = counts(of, half.winner, has.shape[0], 2).astype(np.float64)
    rest, winners = number[:, 0].copy(), number[:, 1].copy()
    beta, value = fit(has, winners, rest * half.each, half.each / 2, np.zeros(0))
    return Made(chosen, of, has, rest, winners, beta, value)


@compiled
def _chances(has: Bools, beta: Float64s) -> Float64s:
    chances = np.empty(has.shape[0])
    for cell in range(chances.size):
        score = 0.0
        for literal in range(has.shape[1]):
            if has[cell, literal]:
                score += beta[1 + literal]
        chances[cell] = 1 / (1 + np.exp(-(beta[0] + score)))
    return chances


@compiled
def _sum(values: Float32s, sentences: Int32s) -> float:
    # Four sums in parallel, so that no addition waits for the previous one.
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = sentences.size // 4 * 4
    for pair in range(0, whole, 4):
        a += values[np.uint32(sentences[pair])]
        b += values[np.uint32(sentences[pair + 1])]
        c += values[np.uint32(sentences[pair + 2])]
        d += values[np.uint32(sentences[pair + 3])]
    for pair in range(whole, sentences.size):
        a += values[np.uint32(sentences[pair])]
    return (a + b) + (c + d)


@compiled
def _approximate(having: Having, half: Half, made: Made, left: Int64s) -> tuple[Float64s, Float64s]:
    """Return the approximate gain of each literal, and how many winners with it the card expects, `[left]`."""
    chances, expected = _chances(made.has, made.beta), np.empty(left.size)
    if chances.size == 1:
        all_expected = half.total * chances[0]
        for i in range(left.size):
            expected[i] = half.standing[left[i]] * chances[0]
    else:
        # Rounded to 32 bits before any sum, so that subtracting a literal's own sentences leaves no rounding error.
        of_cell = np.empty((chances.size, 2), np.float32)
        for cell in range(chances.size):
            of_cell[cell, 0], of_cell[cell, 1] = half.each * chances[cell], chances[cell]
        values, all_expected = np.empty(made.of.size, np.float32), 0.0
        for sentence in range(made.of.size):
            values[sentence] = of_cell[np.uint32(made.of[sentence]), half.winner[sentence]]
            all_expected += values[sentence]
        for i in range(left.size):
            expected[i] = _sum(values, _having(having, left[i]))
    gained = np.empty(left.size)
    for i in range(left.size):
        a, n = half.with_winners[left[i]], half.standing[left[i]]
        gained[i] = _gain(a, expected[i], n, float(half.winners), all_expected, half.total, half.each / 2)
    return gained, expected


@compiled
def _exact(having: Having, half: Half, made: Made, literal: int, expected: float) -> float:
    """Return by how much one more literal raises the penalised log-likelihood of the complete card, in nats."""
    a, n = half.with_winners[literal], half.standing[literal]
    odds = expected / (n - expected) if 0 < expected < n else 1.0
    start = np.empty(made.beta.size + 1)
    start[:-1] = made.beta
    start[-1] = np.log((a + 0.5) / (n - a + half.each / 2) / odds)
    own = _having(having, literal)
    _, value = _fit_one_more(made.of, made.has, made.winners, made.rest, own, half.winner, half.each, start)
    return value - made.value


@compiled
def _evidence(having: Having, half: Half, made: Made, chances: Float64s, literal: int) -> float:
    """Return a literal's gain if each available sentence counts once, divided by its design effect, in nats.

    Args:
        having, half, made: the sentences and the card.
        chances: the probability of a winner in each cell, by a fit in which each sentence counts once.
        literal: the literal to evaluate.
    """
    own, expected, every = _having(having, literal), 0.0, 0.0
    for sentence in own:
        expected += chances[made.of[sentence]]
    for cell in range(chances.size):
        every += chances[cell] * (made.winners[cell] + made.rest[cell])
    n = float(half.winner.size)
    gained = _gain(half.with_winners[literal], expected, float(own.size), float(half.winners), every, n, 0.5)
    return gained / _design_effect(own, made.of, half.winner, chances, half.document)


@compiled
def _best(having: Having, half: Half, shown: Int64s, made: Made, left: Int64s) -> int:
    """Return the literal whose gain exceeds its cost most, among those worth their cost; -1 if there is none."""
    gained, expected = _approximate(having, half, made, left)
    cost = half.cost[left]
    # An approximate gain lacks what refitting the other weights adds.
    good = np.flatnonzero(gained > cost / 2)
    order = good[np.argsort(cost[good] - gained[good], kind="mergesort")]
    # With one cell, the approximate gain is that of a fit without a prior, which the exact gain cannot exceed.
    one_cell, plain = made.has.shape[0] == 1, np.zeros(0)
    tried, beyond, exact = np.empty(_TRIED, np.int64), np.empty(_TRIED), np.empty(_TRIED, np.bool_)
    at, checked = 0, 0
    while at < order.size and checked < _CHECKED:
        size = 0
        while at < order.size and checked < _CHECKED and size < _TRIED:
            place = order[at]
            at += 1
            most = gained[place] - cost[place] + _NEARLY if one_cell else np.inf
            if most <= 0:
                at = order.size
                break
            literal = left[place]
            if literal == shown_by(
                having, half.order, half.rank, half.with_winners, half.with_any, literal, NEAR, shown
            ):
                tried[size], beyond[size], exact[size] = place, most, False
                size += 1
                checked += 1
        while size:
            first = np.argmax(beyond[:size])
            if beyond[first] <= 0:
                break
            literal = left[tried[first]]
            if not exact[first]:
                exact[first] = True
                beyond[first] = _exact(having, half, made, literal, expected[tried[first]]) - cost[tried[first]]
                continue
            if not plain.size:
                beta, _ = fit(made.has, made.winners, made.rest, 0.5, np.zeros(0))
                plain = _chances(made.has, beta)
            if _evidence(having, half, made, plain, literal) > half.cost[literal]:
                return int(literal)
            beyond[first] = -np.inf
    return -1


@compiled
def _extended(having: Having, half: Half, shown: Int64s, card: Made, pool: Int64s, most: int) -> Made:
    """Return a card with at most `most` more literals from `pool`, each worth its cost."""
    made, left = card, pool[half.standing[pool] > 0]
    for _ in range(most):
        best = _best(having, half, shown, made, left)
        if best < 0:
            break
        made = _made(having, half, np.append(made.chosen, best))
        left = left[left != best]
    return made


@compiled
def choose(
    having: Having, half: Half, nuisance: int, most_nuisance: int, most: int
) -> tuple[Made, Made, Int64s, Int64s]:
    """Return the card of nuisance literals alone, and the card that adds the other literals to it.

    Also return the near-copies of each literal of the second card: the copies, ascending, and where each literal's
    start.

    Args:
        having: the training sentences with each literal.
        half: the training half.
        nuisance: number of nuisance literals, which come first in the order.
        most_nuisance, most: maximum number of nuisance literals and of other literals on a card.
    """
    shown = np.full(half.order.size, -1)
    nothing = _made(having, half, np.zeros(0, np.int64))
    base = _extended(having, half, shown, nothing, half.order[:nuisance], most_nuisance)
    whole = _extended(having, half, shown, base, half.order[nuisance:], most)
    copies, ends = np.empty(half.order.size, np.int64), np.zeros(whole.chosen.size + 1, np.int64)
    for i in range(whole.chosen.size):
        own, there = whole.chosen[i], ends[i]
        for other in range(half.order.size):
            # Copies come later in the order, and have a similar number of sentences.
            if (
                half.rank[other] <= half.rank[own]
                or abs(half.with_any[other] - half.with_any[own])
                > (1 - NEAR) * max(half.with_any[other], half.with_any[own]) + 1e-6
            ):
                continue
            if own == shown_by(having, half.order, half.rank, half.with_winners, half.with_any, other, NEAR, shown):
                copies[there] = other
                there += 1
        ends[i + 1] = there
    return base, whole, copies[: ends[-1]], ends
