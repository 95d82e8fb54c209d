"""Seeded uniform draws of sentence ids, of distinct texts (by their hashes, without a list of texts), and rotations."""

from collections.abc import Callable, Collection, Iterable

import numpy as np

from ops.arrays import Bools, Float64s, Int64s, UInt64s
from ops.hashing import mix

# The purposes of draws, each with its own number, so that no two draws with the same seed share a random stream.
ORDER, LIMIT, ACTIVATIONS, PILOT, BASELINE, NEAR, MASKING, CLUSTERS, SUPERCLUSTERS = range(9)
POSITIONS, PAIRS, GAUSSIAN, LABELS, DOCUMENTS = range(9, 14)
PERMUTATIONS, ROTATIONS, DIVERSITY, UNIFORM, GROUPS, SHUFFLES, NEIGHBOURS, TEXT_SETS = range(14, 22)
MODEL_SAMPLE, NEXT_SENTENCES, OTHER_SENTENCES, MASKED_SENTENCES, TRANSLATIONS, HASHED, AUTOENCODER = range(23, 30)
TRAINING_DOCUMENTS, TRAINING_SPLIT, SHUFFLED_LABELS, ABLATED_SENTENCES, RANDOM_NEURONS, PANEL = range(30, 36)
ANALOGY_PAIRS, CONFUSION_FOLDS, CONFUSION_DOCUMENTS, DOCUMENT_FOLDS = range(40, 44)
HELD_BACK, RANGE_RESAMPLES, AXES, SHUFFLED_SENTENCES, EXAMPLES = range(50, 55)
TOPICS, OWN_WINNERS, CARD_RESAMPLES = range(60, 63)
FREQUENT_WORDS, WORD_PAIRS = range(65, 67)
CONTROLLED = 64
MEASURED, BASIS = range(70, 72)
RANDOM_DIRECTIONS, CHECKED_UNITS, CHECKED_SENTENCES, OUTPUT_SENTENCES = range(80, 84)
AUDIT_LABELS, AUDIT_HALVES = range(90, 92)
COMPARED_RUNS, OTHER_BASIS = range(100, 102)
CONTRAST_PERMUTATIONS, CONTRAST_LABELS, CONTRAST_AXES, CONTRAST_SENTENCES = range(110, 114)
OWN_TEXTS = 120
# These larger numbers are kept so that the results of earlier runs can be reproduced.
CONFUSION_LABELS, CONFUSION_ORDER = 0x5F, 0xC0F

_BINS = 1 << 16
_SHIFT = np.uint64(48)  # the right shift that leaves the bits of a priority which are its bin's index


def draw(sentences: int, size: int, seed: int, *purpose: int) -> Int64s:
    """Draw a uniform sample of ids without replacement, or all ids if `size` is at least `sentences`.

    Args:
        sentences: number of ids, which are 0 to `sentences` - 1.
        purpose: the purpose of the draw, such as one of the constants above, and what tells several draws apart.

    Returns:
        Sorted ids, `[min(size, sentences)]` int64.
    """
    if size >= sentences:
        return np.arange(sentences, dtype=np.int64)
    rng = np.random.default_rng([seed, *purpose])
    return np.sort(rng.choice(sentences, size, replace=False)).astype(np.int64)


def expected_selected(
    sentences: int, draws: list[tuple[int, int]], datasets: Collection[int] = (), k: int = 0, times: int = 0
) -> int:
    """Return the expected number of distinct sentences in some draws, if the draws are independent.

    Args:
        sentences: number of sentences of the corpus.
        draws: for each kind of draw, its number of sentences and the number of such draws.
        datasets: number of sentences of each data set that has its own draws.
        k, times: for each data set, the number of sentences in such a draw and the number of draws.

    >>> expected_selected(1_000, [(100, 1)]), expected_selected(1_000, [(100, 2)]), expected_selected(10, [(99, 1)])
    (100, 190, 10)
    >>> expected_selected(1_000, [(100, 1)], [200, 500], 50, 1)
    190
    """
    if not sentences:
        return 0
    left = 1.0
    for size, number in draws:
        left *= (1 - min(size / sentences, 1)) ** number
    kept = sum(size * (1 - min(k / size, 1)) ** times for size in datasets) + max(sentences - sum(datasets), 0)
    return round(sentences - left * kept)


def random_state(seed: int) -> int:
    """Return a seed below 2**32, as scikit-learn requires; a larger seed is replaced by a number drawn with it."""
    return seed if seed < 1 << 32 else int(np.random.default_rng(seed).integers(1 << 32))


def pilot_size(sentences: int, at_most: int) -> int:
    """Return the number of sentences of the pilot: a fiftieth of the corpus, at least 256 and at most `at_most`."""
    return min(sentences, max(min(256, at_most), min(at_most, sentences // 50)))


def priorities(hashes: UInt64s, seed: int, purpose: int) -> UInt64s:
    """Return each text's priority in a draw, `[texts]` uint64: its hash mixed with the seed; the lowest are drawn.

    Args:
        hashes: the 64-bit hash of each text, `[texts]`.
    """
    salt = np.random.default_rng([seed, purpose]).integers(0, 2**64, dtype=np.uint64)
    return mix(hashes ^ salt)


def sample_cutoff(blocks: Callable[[], Iterable[tuple[UInt64s, Int64s]]], size: int) -> tuple[int, int]:
    """Return the priority and position of the last text in a sample of `size`, by priority and then position.

    Only the texts whose priorities begin with the same 16 bits as that of the last text are in memory.

    Args:
        blocks: returns the priorities and positions of all texts, a block at a time; it is called twice.
        size: number of texts in the sample, at least 1 and at most the number of all texts.
    """
    counts = np.zeros(_BINS, np.int64)
    for priority, _ in blocks():
        counts += np.bincount((priority >> _SHIFT).astype(np.int64), minlength=_BINS)
    before = np.cumsum(counts) - counts
    last_bin = int(np.searchsorted(before, size - 1, "right")) - 1
    inside = [(p[here], at[here]) for p, at in blocks() if (here := (p >> _SHIFT) == np.uint64(last_bin)).any()]
    priority, position = (np.concatenate(column) for column in zip(*inside, strict=True))
    last = np.lexsort((position, priority))[size - 1 - int(before[last_bin])]
    return int(priority[last]), int(position[last])


def in_sample(priority: UInt64s, position: Int64s, cutoff: tuple[int, int]) -> Bools:
    """Return which texts are in the sample with a given `sample_cutoff`, `[texts]` bool.

    Args:
        priority: the priority of each text, `[texts]` uint64.
        position: the position of each text, `[texts]` int64, which decides between equal priorities.
        cutoff: the priority and position of the sample's last text.
    """
    last = np.uint64(cutoff[0])
    return np.asarray((priority < last) | ((priority == last) & (position <= cutoff[1])))


def random_rotation(width: int, rng: np.random.Generator) -> Float64s:
    """Return a rotation drawn uniformly, `[width, width]` float64 (QR of a normal matrix, Mezzadri 2007)."""
    q, r = np.linalg.qr(rng.normal(size=(width, width)))
    return np.asarray(q * np.sign(np.diag(r)))


def random_rotations(widths: Iterable[int], rng: np.random.Generator) -> dict[int, Float64s]:
    """Draw one rotation for all layers of the same width, because these share the residual stream's basis.

    Returns:
        The rotations by width, drawn in ascending order of the widths.
    """
    return {width: random_rotation(width, rng) for width in sorted(set(widths))}
