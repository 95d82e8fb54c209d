"""Confusion sets (Banko and Brill 2001): their examples, and classifiers that choose among the confused words.

An example has the words around a blank and the model's state there.
"""

import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Bools, Float32s, Float64s, Int64s, UInt64s
from ops.errors import InputError
from ops.hashing import mix, text_hash
from ops.meaning.readers import BlankReader
from ops.meaning.words import fold, word_spans
from ops.sampling import CONFUSION_DOCUMENTS, CONFUSION_FOLDS, CONFUSION_LABELS, CONFUSION_ORDER, priorities
from ops.statistics.resampling import percentile_interval, resample

DEFAULT = (
    "to two too, then than, its it's, their there they're, your you're, weather whether, principal principle, "
    "accept except, affect effect, lose loose, peace piece, quiet quite"
)
TEST_SHARE = 0.2  # share of the documents
COLUMNS = ["sent_id", "text", "dataset", "doc_id"]  # of corpus/
Sets = list[tuple[str, ...]]

SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
LEAST_TRAINED, LEAST_TESTED = 20, 20  # minimum numbers of occurrences
MOST_TESTED = 2_000
MOST_CHOSEN_BY = 10_000  # maximum number of training examples used to choose a penalty
_FEATURES = 1 << 18  # of words, by their hashes
# Values of scikit-learn's C, the inverse of the penalty's strength. Sparse words need a weaker penalty than dense
# states.
PENALTIES = (0.01, 0.1, 1.0, 10.0)
USUAL_PENALTY = 0.1  # used if there are too few documents to choose one
FOLDS = 3
_MOST_STEPS = 100
_LEAST = 1e-9  # minimum probability of the right label in a loss


def read_sets(text: str) -> Sets:
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
            named = f"{' '.join(words)!r} is not a confusion set"
            raise InputError(f"--confusion {text}: {named}; give two words or more, as in 'then than'")
        for word in words:
            if word in seen:
                raise InputError(f"--confusion {text}: {word!r} is in it twice")
            if word_spans(word) != [(0, len(word))]:
                raise InputError(f"--confusion {text}: {word!r} is not one word")
            seen.add(word)
    return sets


def find_occurrences(text: str, places: dict[str, tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    """Return where the words of confusion sets occur in a sentence, ignoring case: set, label, first character, stop.

    `places` are the index of each word's set, and its label: the index of the word in the set.
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
    return mix(priorities(sent_id.astype(np.uint64), seed, CONFUSION_ORDER) + start.astype(np.uint64))


def document_number(dataset: str, doc_id: str, seed: int) -> int:
    """Return 64 bits of a hash of the seed, the dataset and the document's id."""
    return text_hash(f"{seed}\0{dataset}\0{doc_id}")


def is_tested(documents: UInt64s) -> Bools:
    """Return whether classifiers are tested on documents, given their numbers; one fifth of the documents are."""
    return np.asarray(documents < np.uint64(TEST_SHARE * 2**64))


def find_examples(
    table: pa.Table, sets: Sets, reader: BlankReader, most: int, most_states: int, window: int, seed: int
) -> tuple[pa.Table, dict[str, Any]]:
    """Find the sets' words in a shard, and read the model's states at their positions after blanking them.

    Args:
        table: the shard, with `COLUMNS`.
        most, most_states: the maximum number of a set's examples in the shard, and of its examples with states.
        window: number of words on each side that are features.

    Returns:
        A table with one row for each example that is kept: `set`, `label`, `order`, `document` (the document's number),
        `words`, and `state` (all layers concatenated; null without a state). And a dictionary with the number of
        occurrences `found` for each set, and the number of states that were `not_finite`.
    """
    ids, texts, datasets, documents = (column.to_pylist() for column in table.select(COLUMNS).columns)
    places = {word: (i, j) for i, words in enumerate(sets) for j, word in enumerate(words)}
    occurrences = [(row, *match) for row, text in enumerate(texts) for match in find_occurrences(text, places)]
    row, number, label, start, stop = np.array(occurrences, np.int64).reshape(-1, 5).T
    order = priority(np.array(ids, np.int64)[row], start, seed)
    ranked = np.lexsort((start, order, number))
    rank = np.arange(len(ranked)) - np.searchsorted(number[ranked], number[ranked])  # within its set
    kept, stated = (ranked[rank < limit] for limit in (most, most_states))
    spans = list(zip(start[stated].tolist(), stop[stated].tolist(), strict=True))
    blanks = zip(stated.tolist(), reader.blanks([texts[i] for i in row[stated]], spans), strict=True)
    read = [(k, blank) for k, blank in blanks if blank is not None]
    states = reader.read([blank for _, blank in read]).reshape(len(read), reader.layers * reader.width)
    finite = np.asarray(np.isfinite(states).all(1))
    state_of = {k: state for (k, _), state, is_finite in zip(read, states, finite, strict=True) if is_finite}
    columns = {
        "set": number[kept],
        "label": label[kept],
        "order": order[kept],
        "document": pa.array([document_number(datasets[i], documents[i], seed) for i in row[kept]], pa.uint64()),
        "words": pa.array(
            [words_around(texts[row[k]], start[k], stop[k], window) for k in kept], pa.list_(pa.string())
        ),
        "state": pa.array([state_of.get(k) for k in kept.tolist()], pa.list_(pa.float32())),
    }
    counts = np.bincount(number, minlength=len(sets)).tolist()
    return pa.table(columns), {"found": counts, "not_finite": int((~finite).sum())}


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


def examples_of(number: int, shards: Iterable[pa.Table], layers: int, width: int) -> Examples:
    """Return the examples of a set in their seeded order, given the tables of `find_examples` by shard."""
    table = pa.concat_tables(table.filter(pc.equal(table["set"], number)) for table in shards).combine_chunks()
    # The shards are in order, so with a stable sort ties stay in the order of the corpus.
    table = table.take(pa.array(np.argsort(table["order"].to_numpy(), kind="stable")))
    states = pc.list_flatten(table["state"]).to_numpy().reshape(-1, layers, width)
    return Examples(
        table["label"].to_numpy(), table["words"].to_pylist(), states, table["state"].is_valid().to_numpy(),
        table["document"].to_numpy(),
    )  # fmt: skip


def measure_set(name: str, examples: Examples, seed: int) -> list[dict[str, Any]]:
    """Return the rows of `meaning/confusion` of a set, with a further column `converged`.

    There are no rows if a set has too few examples, or examples of only one word.

    All classifiers are tested on the same occurrences: the occurrences in held-out documents that have states.
    `majority` always answers with the most frequent word. `words` and `layer:N` are logistic regressions, each with the
    penalty that cross-validation by document chooses on its own training examples. `shuffled` is the control: the
    classifier `words` with the labels in random order, in training and in testing. A regression that did not converge
    is a weaker classifier, but not an error.
    """
    from sklearn.feature_extraction import FeatureHasher

    label, tested = examples.label, is_tested(examples.document)
    tests = np.flatnonzero(tested & examples.has_state)[:MOST_TESTED]
    train = np.flatnonzero(~tested)
    if len(train) < LEAST_TRAINED or len(tests) < LEAST_TESTED or len(np.unique(label[train])) < 2:
        return []
    truth, folds = label[tests], folds_of(examples.document, seed)
    distinct, document = np.unique(examples.document[tests], return_inverse=True)
    times = resample(len(distinct), np.random.default_rng([seed, CONFUSION_DOCUMENTS]))
    rows: list[dict[str, Any]] = []

    def add(
        features: str, n: int, answers: Int64s, converged: bool, penalty: float | None, truth: Int64s = truth
    ) -> None:
        row = {"set": name, "features": features, "n": n, "c": penalty, "converged": converged}
        rows.append(row | score_answers(answers, truth, document, times))

    hasher = FeatureHasher(_FEATURES, input_type="string", alternate_sign=False)
    matrix, sizes = hasher.transform(examples.words).tocsr(), sizes_of(len(train))
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
    state_row = np.cumsum(examples.has_state) - 1
    for layer in range(examples.states.shape[1]):
        states = examples.states[:, layer]
        for n in sizes_of(len(stated)):
            some = stated[:n]
            given, queries = standardised(states[state_row[some]], states[state_row[tests]])
            penalty = choose_penalty(given, label[some], folds[some])
            add(f"layer:{layer + 1}", n, *answer(given, label[some], queries, penalty), penalty)
    return rows


def sizes_of(available: int) -> list[int]:
    """Return the numbers of training examples to use: the available sizes in `SIZES`, and the number of all examples.

    >>> sizes_of(450)
    [100, 300, 450]
    """
    return [n for n in SIZES if n < available] + [available]


def from_which_layer(rows: list[dict[str, Any]], layers: int, alike: bool = False) -> int | None:
    """Return the first layer from which on every layer's state is more accurate than the words; None if there is none.

    Each is compared with all its training examples, of which the words have more than the states, or, if `alike`, at
    the largest number of training examples that both share.
    """
    sizes = [{row["n"] for row in rows if row["features"] == name} for name in ("words", "layer:1")]
    shared = max(sizes[0] & sizes[1], default=0)
    # Sizes ascend, so the accuracy at the largest size is kept.
    best = {row["features"]: row["accuracy"] for row in rows if not alike or row["n"] == shared}
    beats = [best.get(f"layer:{i + 1}", 0.0) > best.get("words", 1.0) for i in range(layers)]
    lost = [i for i, won in enumerate(beats) if not won]
    first = (lost[-1] + 1 if lost else 0) + 1
    return first if first <= layers else None


def score_answers(answers: Int64s, truth: Int64s, document: Int64s, times: Float64s) -> dict[str, Any]:
    """Return the columns of `meaning/confusion` that measure the accuracy of the answers.

    For balanced accuracy, the share of correctly answered examples is computed for each word and then averaged over the
    words. Words that do not occur among the examples, or in a resample, are excluded from the mean.

    Args:
        answers, truth: the labels that were chosen for the examples, and the correct ones, `[examples]`.
        document, times: the index of each example's document, `[examples]`, and the `resample` of these documents.
    """
    labels, word = np.unique(truth, return_inverse=True)
    documents = times.shape[1]
    cell, shape = document * len(labels) + word, (documents, len(labels))
    examples = np.bincount(cell, minlength=documents * len(labels)).astype(np.float64).reshape(shape)
    right = np.bincount(cell, answers == truth, documents * len(labels)).reshape(shape)
    drawn_examples, drawn_right = np.split(times @ np.concatenate([examples, right], 1), 2, 1)
    occurs = drawn_examples > 0
    shares = drawn_right / np.where(occurs, drawn_examples, 1)
    accuracy, balanced = drawn_right.sum(1) / drawn_examples.sum(1), shares.sum(1) / occurs.sum(1)
    return {
        "n_test": len(truth), "documents": documents, "correct": int(right.sum()),
        **percentile_interval(accuracy, documents).columns("accuracy", ""),
        **percentile_interval(balanced, documents).columns("balanced_accuracy", "balanced"),
    }  # fmt: skip


def folds_of(documents: UInt64s, seed: int) -> Int64s:
    """Return the fold of each example, given the number of its document, `[examples]` uint64."""
    return (priorities(documents, seed, CONFUSION_FOLDS) % np.uint64(FOLDS)).astype(np.int64)


def choose_penalty(given: Any, labels: Int64s, folds: Int64s) -> float:
    """Return the penalty of `PENALTIES` with the lowest loss in cross-validation; for ties, the strongest penalty.

    The loss is the negative log probability of the correct label, which is more informative than accuracy on few
    examples. A fold is skipped if the other folds have only one label.

    Args:
        given: the features, `[examples, features]`, dense or sparse.
        labels, folds: the label and the fold of each example, `[examples]`.
    """
    splits = [(folds != fold, folds == fold) for fold in np.unique(folds)]
    splits = [(train, rest) for train, rest in splits if len(np.unique(labels[train])) > 1]
    if not splits:
        return USUAL_PENALTY
    loss = [sum(_loss(given, labels, train, rest, penalty) for train, rest in splits) for penalty in PENALTIES]
    return PENALTIES[int(np.argmin(loss))]


def _loss(given: Any, labels: Int64s, train: Any, rest: Any, penalty: float) -> float:
    """Return the summed loss on the examples `rest` of a classifier that is trained on the examples `train`."""
    model, features, _ = _trained(given[train], labels[train], penalty)
    known = np.searchsorted(model.classes_, labels[rest]).clip(max=len(model.classes_) - 1)
    probability = model.predict_proba(given[rest][:, features])[np.arange(len(known)), known]
    probability = np.where(model.classes_[known] == labels[rest], probability, 0)
    return float(-np.log(np.maximum(probability, _LEAST)).sum())


def answer(given: Any, labels: Int64s, queries: Any, penalty: float) -> tuple[Int64s, bool]:
    """Return the answers of a logistic regression trained on examples, `[queries]`, and whether its training converged.

    If the examples have only one label, that label is the answer.
    """
    if len(np.unique(labels)) < 2:
        return np.full(queries.shape[0], labels[0]), True
    model, features, converged = _trained(given, labels, penalty)
    return np.asarray(model.predict(queries[:, features])), converged


def _trained(given: Any, labels: Int64s, penalty: float) -> tuple[Any, Any, bool]:
    """Return a trained classifier, the indices of the features that it uses, and whether its training converged."""
    from scipy.sparse import issparse
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    # A feature that no training example has would get no weight. Dropping it gives the same classifier faster.
    features = np.unique(given.indices) if issparse(given) else slice(None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LogisticRegression(C=penalty, max_iter=_MOST_STEPS, tol=1e-3).fit(given[:, features], labels)
    return model, features, bool(model.n_iter_.max() < _MOST_STEPS)


def standardised(given: Float32s, queries: Float32s) -> tuple[Float32s, Float32s]:
    """Standardise training and test states with each unit's mean and standard deviation over the training states."""
    mean, std = given.mean(0), given.std(0)
    std = np.where(std > 0, std, 1)
    return (given - mean) / std, (queries - mean) / std
