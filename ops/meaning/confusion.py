"""Confusion sets: where their words stand, and how well classifiers choose among them (Banko and Brill 2001)."""

import hashlib
import warnings
from typing import Any, NamedTuple

import numpy as np

from ops.arrays import Bools, Float32s, Int64s, UInt64s
from ops.errors import InputError
from ops.hashing import mix
from ops.meaning.words import fold, word_spans
from ops.sampling import CONFUSION_LABELS, CONFUSION_ORDER
from ops.statistics.wilson import wilson

DEFAULT = (
    "to two too, then than, its it's, their there they're, your you're, weather whether, principal principle, "
    "accept except, affect effect, lose loose, peace piece, quiet quite"
)
SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
TEST_SHARE = 0.2  # of the documents
LEAST_TRAINED, LEAST_TESTED = 20, 20  # occurrences
MOST_TESTED = 2_000
_FEATURES = 1 << 18


class Occurrence(NamedTuple):
    """A word of a confusion set in a sentence: which set, which of its words, and its characters."""

    set: int
    label: int
    start: int
    stop: int


def read_sets(text: str) -> list[tuple[str, ...]]:
    """Read confusion sets: words with spaces between them, a comma after each set.

    Raises:
        InputError: a set does not have two words or more, or a word stands in two sets.

    >>> read_sets("to two too, then than")
    [('to', 'two', 'too'), ('then', 'than')]
    """
    sets = [tuple(fold(part, "lower").split()) for part in text.split(",")]
    seen: set[str] = set()
    for words in sets:
        if len(words) < 2:
            raise InputError(
                f"--confusion {text}: {' '.join(words)!r} is no set; name two words or more, as in 'then than'"
            )
        for word in words:
            if word in seen:
                raise InputError(f"--confusion {text}: {word!r} stands there twice")
            if word_spans(word) != [(0, len(word))]:
                raise InputError(f"--confusion {text}: {word!r} is not one word")
            seen.add(word)
    return sets


def find_occurrences(text: str, places: dict[str, tuple[int, int]]) -> list[Occurrence]:
    """Return where the words of confusion sets stand in a sentence, whatever their case.

    Args:
        text: the sentence.
        places: set and label by word.
    """
    found = []
    for start, stop in word_spans(text):
        place = places.get(fold(text[start:stop], "lower"))
        if place is not None:
            found.append(Occurrence(*place, start, stop))
    return found


def words_around(text: str, start: int, stop: int, window: int) -> list[str]:
    """Return the words to both sides of a blank as features: each by itself, and the four nearest with their places.

    >>> words_around("He wants to eat now", 9, 11, 2)
    ['He', 'wants', 'eat', 'now', '-2 He', '-1 wants', '+1 eat', '+2 now']
    """
    spans = word_spans(text)
    before = [text[a:b] for a, b in spans if b <= start][-window:]
    after = [text[a:b] for a, b in spans if a >= stop][:window]
    near = [f"-{len(before) - i} {word}" for i, word in enumerate(before) if len(before) - i <= 2]
    return [*before, *after, *near, *(f"+{i + 1} {word}" for i, word in enumerate(after[:2]))]


def priority(sent_id: Int64s, start: Int64s, seed: int) -> UInt64s:
    """Return the seeded order in which occurrences are taken, `[occurrences]` uint64."""
    salt = np.random.default_rng([seed, CONFUSION_ORDER]).integers(0, 2**64, dtype=np.uint64)
    return mix(mix(sent_id.astype(np.uint64) ^ salt) + start.astype(np.uint64))


def held_out(dataset: str, doc_id: str, seed: int) -> bool:
    """Tell whether a document is one that classifiers are tested on: a fifth of them, by a hash of their names."""
    digest = hashlib.blake2b(f"{seed}\0{dataset}\0{doc_id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) < TEST_SHARE * 2**64


class Examples(NamedTuple):
    """The occurrences of one set, in their seeded order.

    Attributes:
        label: which of the set's words, `[occurrences]`.
        tested: of a held-out document, `[occurrences]` bool.
        words: features of the words around it, a list each.
        states: `[occurrences with states, layers, width]` float32.
        has_state: which occurrences have them, `[occurrences]` bool.
    """

    label: Int64s
    tested: Bools
    words: list[list[str]]
    states: Float32s
    has_state: Bools


def measure_set(name: str, examples: Examples, seed: int) -> tuple[list[dict[str, Any]], int]:
    """Return the rows of `meaning/confusion` of a set, and how many of its classifiers did not converge.

    There are no rows where a set has too few examples, or words of one kind alone.

    All classifiers are tested on the same occurrences: those of held-out documents that have states. `majority`
    answers with the most frequent word; `words` and `layer:N` are logistic regressions; `shuffled` is `words` with
    the labels in a random order, those trained on and those tested on: the control. One that did not converge is a
    weaker classifier, and no error.
    """
    tests = np.flatnonzero(examples.tested & examples.has_state)[:MOST_TESTED]
    train = np.flatnonzero(~examples.tested)
    if len(train) < LEAST_TRAINED or len(tests) < LEAST_TESTED or len(np.unique(examples.label[train])) < 2:
        return [], 0
    truth = examples.label[tests]
    rows: list[dict[str, Any]] = []
    not_converged = 0

    def trained(given: Any, labels: Int64s, asked: Any) -> Int64s:
        nonlocal not_converged
        answers, converged = answer(given, labels, asked)
        not_converged += not converged
        return answers

    def add(features: str, n: int, answers: Int64s, truth: Int64s = truth) -> None:
        correct = int((answers == truth).sum())
        low, high = wilson(correct / len(truth), len(truth))
        own = {"set": name, "features": features, "n": n, "n_test": len(truth), "correct": correct}
        rows.append({**own, "accuracy": correct / len(truth), "low": low, "high": high})

    matrix = hashed(examples.words)
    sizes = sizes_of(len(train))
    for n in sizes:
        own = train[:n]
        add("majority", n, np.full(len(truth), np.bincount(examples.label[own]).argmax()))
        add("words", n, trained(matrix[own], examples.label[own], matrix[tests]))
    rng = np.random.default_rng([seed, CONFUSION_LABELS])
    shuffled = rng.permutation(examples.label[train])
    add("shuffled", sizes[-1], trained(matrix[train], shuffled, matrix[tests]), rng.permutation(truth))
    stated = train[examples.has_state[train]]
    place = np.cumsum(examples.has_state) - 1
    if len(stated) < LEAST_TRAINED:
        return rows, not_converged
    for layer in range(examples.states.shape[1]):
        states = examples.states[:, layer]
        for n in sizes_of(len(stated)):
            own = stated[:n]
            given, asked = standardised(states[place[own]], states[place[tests]])
            add(f"layer:{layer + 1}", n, trained(given, examples.label[own], asked))
    return rows, not_converged


def sizes_of(there: int) -> list[int]:
    """Return the numbers of examples to train by: those of `SIZES` that there are, and all of them.

    >>> sizes_of(450)
    [100, 300, 450]
    """
    return [n for n in SIZES if n < there] + [there]


def hashed(words: list[list[str]]) -> Any:
    """Return the features of words as a sparse matrix `[occurrences, 2^18]`."""
    from sklearn.feature_extraction import FeatureHasher

    return FeatureHasher(_FEATURES, input_type="string", alternate_sign=False).transform(words).tocsr()


def standardised(given: Float32s, asked: Float32s) -> tuple[Float32s, Float32s]:
    """Return training and test states with the training's mean 0 and standard deviation 1 in each unit."""
    mean, std = given.mean(0), given.std(0)
    std = np.where(std > 0, std, 1)
    return (given - mean) / std, (asked - mean) / std


def answer(given: Any, labels: Int64s, asked: Any) -> tuple[Int64s, bool]:
    """Return what a logistic regression trained on examples answers, `[asked]`, and whether its training converged.

    Where the examples have one label alone, it is the answer. Other warnings of scikit-learn than that of convergence
    are passed on.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    if len(np.unique(labels)) < 2:
        return np.full(asked.shape[0], labels[0]), True
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model = LogisticRegression(C=0.1, max_iter=100, tol=1e-3)
        answers = np.asarray(model.fit(given, labels).predict(asked))
    others = [warning for warning in caught if not issubclass(warning.category, ConvergenceWarning)]
    for warning in others:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return answers, len(others) == len(caught)


def from_which_layer(rows: list[dict[str, Any]], layers: int, alike: bool = False) -> int | None:
    """Return the first layer from which on every layer's state beats the words; None: no layer.

    Args:
        rows: of one set, as `measure_set` returns them first.
        layers: of the model.
        alike: compare at the largest number of examples that words and states were both trained on; else each by all
            it has, of which the words have more.
    """
    sizes = [{row["n"] for row in rows if row["features"] == name} for name in ("words", "layer:1")]
    shared = max(sizes[0] & sizes[1], default=0)
    # Sizes ascend, so the last one stays.
    best = {row["features"]: row["accuracy"] for row in rows if not alike or row["n"] == shared}
    beats = [best.get(f"layer:{i + 1}", 0.0) > best.get("words", 1.0) for i in range(layers)]
    lost = [i for i, won in enumerate(beats) if not won]
    first = (lost[-1] + 1 if lost else 0) + 1
    return first if first <= layers else None
