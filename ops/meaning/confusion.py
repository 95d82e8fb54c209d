"""Confusion sets: occurrences of their words, and classifiers that choose among the words (Banko and Brill 2001)."""

import hashlib
from typing import Any, NamedTuple

import numpy as np

from ops.arrays import Bools, Float32s, Int64s, UInt64s
from ops.errors import InputError
from ops.hashing import mix
from ops.meaning.confusion_classifiers import answer, choose_penalty, folds_of, standardised
from ops.meaning.confusion_scores import AnswerScores
from ops.meaning.words import fold, word_spans
from ops.sampling import CONFUSION_LABELS, CONFUSION_ORDER

DEFAULT = (
    "to two too, then than, its it's, their there they're, your you're, weather whether, principal principle, "
    "accept except, affect effect, lose loose, peace piece, quiet quite"
)
SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
TEST_SHARE = 0.2  # share of the documents
LEAST_TRAINED, LEAST_TESTED = 20, 20  # minimum numbers of occurrences
MOST_TESTED = 2_000
MOST_CHOSEN_BY = 10_000  # maximum number of training examples used to choose a penalty
_FEATURES = 1 << 18


def read_sets(text: str) -> list[tuple[str, ...]]:
    """Read confusion sets: words are separated by spaces, and sets by commas.

    Raises:
        InputError: a set has fewer than two words, a word occurs twice, or a word is not a single word.

    >>> read_sets("to two too, then than")
    [('to', 'two', 'too'), ('then', 'than')]
    """
    sets = [tuple(fold(part, "lower").split()) for part in text.split(",")]
    seen: set[str] = set()
    for words in sets:
        if len(words) < 2:
            raise InputError(
                f"--confusion {text}: {' '.join(words)!r} is not a confusion set; give two words or more, as in 'then "
                "than'"
            )
        for word in words:
            if word in seen:
                raise InputError(f"--confusion {text}: {word!r} is in it twice")
            if word_spans(word) != [(0, len(word))]:
                raise InputError(f"--confusion {text}: {word!r} is not one word")
            seen.add(word)
    return sets


def find_occurrences(text: str, places: dict[str, tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    """Return where the words of confusion sets occur in a sentence, ignoring case: set, label, first character, stop.

    Args:
        text: the sentence.
        places: for each word, the index of its set and its label (the index of the word in the set).
    """
    words = [(places.get(fold(text[start:stop], "lower")), start, stop) for start, stop in word_spans(text)]
    return [(*place, start, stop) for place, start, stop in words if place is not None]


def words_around(text: str, start: int, stop: int, window: int) -> list[str]:
    """Return the words on both sides of a blank as features: each word, and the four nearest words with their offsets.

    >>> words_around("He wants to eat now", 9, 11, 2)
    ['He', 'wants', 'eat', 'now', '-2 He', '-1 wants', '+1 eat', '+2 now']
    """
    spans = word_spans(text)
    before = [text[a:b] for a, b in spans if b <= start][-window:]
    after = [text[a:b] for a, b in spans if a >= stop][:window]
    near = [f"-{len(before) - i} {word}" for i, word in enumerate(before) if len(before) - i <= 2]
    return [*before, *after, *near, *(f"+{i + 1} {word}" for i, word in enumerate(after[:2]))]


def priority(sent_id: Int64s, start: Int64s, seed: int) -> UInt64s:
    """Return the seeded priority by which occurrences are ordered, `[occurrences]` uint64."""
    salt = np.random.default_rng([seed, CONFUSION_ORDER]).integers(0, 2**64, dtype=np.uint64)
    return mix(mix(sent_id.astype(np.uint64) ^ salt) + start.astype(np.uint64))


def document_number(dataset: str, doc_id: str, seed: int) -> int:
    """Return 64 bits of a hash of the seed, the dataset and the document's id."""
    digest = hashlib.blake2b(f"{seed}\0{dataset}\0{doc_id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest)


def is_tested(documents: UInt64s) -> Bools:
    """Return whether classifiers are tested on documents, given their numbers; one fifth of the documents are."""
    return np.asarray(documents < np.uint64(TEST_SHARE * 2**64))


class Examples(NamedTuple):
    """The occurrences of one set, in their seeded order.

    Attributes:
        label: the index of the word in the set, `[occurrences]`.
        words: the features from the surrounding words, one list for each occurrence.
        states: the model's states at the blanks, `[occurrences with states, layers, width]` float32.
        has_state: which occurrences have states, `[occurrences]` bool.
        document: the number of each occurrence's document, `[occurrences]` uint64.
    """

    label: Int64s
    words: list[list[str]]
    states: Float32s
    has_state: Bools
    document: UInt64s


def measure_set(name: str, examples: Examples, seed: int) -> list[dict[str, Any]]:
    """Return the rows of `meaning/confusion` of a set, with a further column `converged`.

    There are no rows if a set has too few examples, or examples of only one word.

    All classifiers are tested on the same occurrences: the occurrences in held-out documents that have states.
    `majority` always answers with the most frequent word. `words` and `layer:N` are logistic regressions, each with the
    penalty that cross-validation by document chooses on its own training examples. `shuffled` is the control: the
    classifier `words` with the labels in random order, in training and in testing. A regression that did not converge
    is a weaker classifier, but not an error.
    """
    label, tested = examples.label, is_tested(examples.document)
    tests = np.flatnonzero(tested & examples.has_state)[:MOST_TESTED]
    train = np.flatnonzero(~tested)
    if len(train) < LEAST_TRAINED or len(tests) < LEAST_TESTED or len(np.unique(label[train])) < 2:
        return []
    truth = label[tests]
    scores, folds = AnswerScores(truth, examples.document[tests], seed), folds_of(examples.document, seed)
    rows: list[dict[str, Any]] = []

    def add(
        features: str, n: int, answers: Int64s, converged: bool, penalty: float | None, truth: Int64s = truth
    ) -> None:
        row = {"set": name, "features": features, "n": n, "c": penalty, "converged": converged}
        rows.append(row | scores.columns(answers, truth))

    matrix, sizes = hashed(examples.words), sizes_of(len(train))
    penalties: dict[int, float] = {}
    for n in sizes:
        some, chosen_by = train[:n], train[: min(n, MOST_CHOSEN_BY)]
        if len(chosen_by) not in penalties:
            penalties[len(chosen_by)] = choose_penalty(matrix[chosen_by], label[chosen_by], folds[chosen_by])
        penalty = penalties[len(chosen_by)]
        add("majority", n, np.full(len(truth), np.bincount(label[some]).argmax()), True, None)
        add("words", n, *answer(matrix[some], label[some], matrix[tests], penalty), penalty)
    rng = np.random.default_rng([seed, CONFUSION_LABELS])
    answers = answer(matrix[train], rng.permutation(label[train]), matrix[tests], penalty)
    add("shuffled", sizes[-1], *answers, penalty, rng.permutation(truth))
    stated = train[examples.has_state[train]]
    if len(stated) < LEAST_TRAINED:
        return rows
    place = np.cumsum(examples.has_state) - 1
    for layer in range(examples.states.shape[1]):
        states = examples.states[:, layer]
        for n in sizes_of(len(stated)):
            some = stated[:n]
            given, asked = standardised(states[place[some]], states[place[tests]])
            penalty = choose_penalty(given, label[some], folds[some])
            add(f"layer:{layer + 1}", n, *answer(given, label[some], asked, penalty), penalty)
    return rows


def sizes_of(available: int) -> list[int]:
    """Return the numbers of training examples to use: the available sizes in `SIZES`, and the number of all examples.

    >>> sizes_of(450)
    [100, 300, 450]
    """
    return [n for n in SIZES if n < available] + [available]


def hashed(words: list[list[str]]) -> Any:
    """Return the features of words as a sparse matrix `[occurrences, 2^18]`."""
    from sklearn.feature_extraction import FeatureHasher

    return FeatureHasher(_FEATURES, input_type="string", alternate_sign=False).transform(words).tocsr()


def from_which_layer(rows: list[dict[str, Any]], layers: int, alike: bool = False) -> int | None:
    """Return the first layer from which on every layer's state is more accurate than the words; None if there is none.

    Args:
        rows: the rows of one set.
        layers: number of layers of the model.
        alike: whether to compare at the largest number of training examples that words and states share. Otherwise each
            is compared with all its training examples; the words have more examples than the states.
    """
    sizes = [{row["n"] for row in rows if row["features"] == name} for name in ("words", "layer:1")]
    shared = max(sizes[0] & sizes[1], default=0)
    # Sizes ascend, so the accuracy at the largest size is kept.
    best = {row["features"]: row["accuracy"] for row in rows if not alike or row["n"] == shared}
    beats = [best.get(f"layer:{i + 1}", 0.0) > best.get("words", 1.0) for i in range(layers)]
    lost = [i for i, won in enumerate(beats) if not won]
    first = (lost[-1] + 1 if lost else 0) + 1
    return first if first <= layers else None
