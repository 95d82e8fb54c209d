"""Random sets of sentences, which show what would be found in winners that have nothing in common."""

import numpy as np

from ops.arrays import Int64s, Integers
from ops.patterns.sequences import Sequences

NULL_SETS = 120  # identifies the draw, so that no other draw shares its random stream
_STEPS = 12  # number of steps of the search for an effect of documents
_MOST_EFFECT = 64.0  # effect at which almost only the document decides


def null_sets(baseline: Int64s, documents: Integers, like: Sequences, number: Int64s, seed: int) -> Sequences:
    """Draw two random sets for each number: a uniform one, and one from about as few documents as winners come from.

    Args:
        baseline: the rows to draw from, ascending.
        documents: the code of the document of every row of the store.
        like: the rows of several sets of winners. All random sets have the mean size of these sets. The second random
            sets also match their mean number of documents.
        number: the numbers of the sets' neurons, distinct, `[n]`.

    Returns:
        The rows of each set, `[2 n]`.
    """
    size = round(float(like.lengths.mean())) if len(like) else 0
    wanted = float(np.mean([len(np.unique(documents[rows])) for rows in like.to_lists()])) if size else 0.0
    codes = np.unique(documents[baseline], return_inverse=True)[1]
    effect = effect_of_documents(codes, size, wanted, np.random.default_rng([seed, NULL_SETS]))
    sets = []
    for neuron in number.tolist():
        random = np.random.default_rng([seed, NULL_SETS, neuron])
        sets += [uniform_set(len(baseline), size, random), document_set(codes, size, effect, random)]
    return Sequences.from_lists(baseline[indices] for indices in sets)


def uniform_set(sentences: int, size: int, random: np.random.Generator) -> Int64s:
    """Draw a uniform set of `size` sentences, or all if there are fewer, as ascending indices."""
    return np.sort(random.choice(sentences, min(size, sentences), replace=False)).astype(np.int64)


def document_set(documents: Integers, size: int, effect: float, random: np.random.Generator) -> Int64s:
    """Draw a set of `size` sentences in which sentences of the same document tend to occur together.

    Each sentence gets a normally distributed score: a part of its own plus `effect` times a part that its document
    shares. The sentences with the highest scores are drawn and returned as ascending indices. Every sentence has the
    same probability, so only the documents distinguish the set from the rest.

    Args:
        documents: the code of each sentence's document, counted from 0, `[sentences]`.
        size: number of sentences in the set; if there are fewer, all are returned.
        effect: standard deviation of the document's part, relative to that of a sentence's own part.
    """
    if size >= len(documents):
        return np.arange(len(documents), dtype=np.int64)
    scores = random.normal(size=len(documents))
    if effect:
        scores += effect * random.normal(size=int(documents.max(initial=-1)) + 1)[documents]
    return np.sort(np.argpartition(-scores, size)[:size]).astype(np.int64)


def effect_of_documents(documents: Integers, size: int, wanted: float, random: np.random.Generator) -> float:
    """Return the effect at which the sets of `document_set` have about the desired number of documents.

    The desired number is `wanted`; the other arguments are those of `document_set`. The effect is 0 if uniform sets do
    not have more documents. It has an upper bound, which is reached if no set can have so few.
    """

    def documents_at(effect: float) -> float:
        sets = [document_set(documents, size, effect, random) for _ in range(3)]
        return float(np.mean([len(np.unique(documents[rows])) for rows in sets]))

    if documents_at(0.0) <= wanted:
        return 0.0
    low, high = 0.0, _MOST_EFFECT
    for _ in range(_STEPS):
        # Above 1 the midpoint is geometric, because there the ratio of effects matters.
        middle = (low + high) / 2 if high < 2 else float(np.sqrt(max(low, 0.25) * high))
        low, high = (middle, high) if documents_at(middle) > wanted else (low, middle)
    return (low + high) / 2
