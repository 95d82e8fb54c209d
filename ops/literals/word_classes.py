"""Topics: clusters of the corpus's words in the model's token table, for what no single word or tree expresses."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ops.arrays import Float32s, Int64s
from ops.literals.like_words import directions_from_mean, unit
from ops.literals.pool import literal_rows
from ops.meaning.readers import embedded
from ops.mine.value_counts import distinct_values
from ops.model.load import ModelFacts, load_model
from ops.model.tokenizer import Tokenizer
from ops.psi.clusters import centroids
from ops.sampling import TOPICS
from ops.sentences.mining_view import MiningView
from ops.shards import spans
from ops.statistics.k_means import k_means

LEAST_SENTENCES = 5
FEWEST_CLASSES, MOST_CLASSES = 200, 500
_WORDS_OF_A_CLASS, _FEWEST_WORDS = 20, 4
_NAMED_BY = 3
_ROWS = 1 << 17


@dataclass(frozen=True)
class CorpusWords:
    """The words of a corpus that occur in enough sentences, ignoring case, `[words]`.

    Attributes:
        words: the words in lower case, ascending.
        spellings: the most frequent spelling of each word.
        sentences: number of sentences that contain each word.
    """

    words: list[str]
    spellings: list[str]
    sentences: Int64s


def corpus_words(view: MiningView, rows: Int64s) -> CorpusWords:
    """Return the words, without punctuation marks, that at least five of these sentences contain.

    Args:
        view: the sentences, with words in lower case.
        rows: the sentences to search: the baseline, which is a uniform sample of the corpus.
    """
    store = view.store
    sentences, written = np.zeros(len(view.word_names), np.int64), np.zeros(len(store.names["word"]), np.int64)
    for first, stop in spans(len(rows), _ROWS):
        words, _, is_mark = view.items(rows[first:stop])
        once = distinct_values(words.where(~is_mark), len(view.word_names))
        sentences += np.bincount(once.items, minlength=len(sentences))
        written += np.bincount(store.words(rows[first:stop]).items[~is_mark], minlength=len(written))
    kept = np.flatnonzero(sentences >= LEAST_SENTENCES)
    folded = np.asarray(store.word_lower)
    order = np.lexsort((np.arange(len(written)), -written, folded))
    most_often = order[np.searchsorted(folded[order], kept)]
    words, spellings = view.word_names.take(kept), store.names["word"].take(most_often)
    return CorpusWords(words.to_pylist(), spellings.to_pylist(), sentences[kept])


def classes_of(words: int) -> int:
    """Return the number of classes into which a number of words is clustered.

    There is one class for every 20 words, but at most 500 classes, and at least 200. With fewer than 800 words, there
    is one class for every four words.

    >>> [classes_of(words) for words in (2, 400, 1_000, 6_000, 60_000)]
    [1, 100, 200, 300, 500]
    """
    fewest = min(FEWEST_CLASSES, words // _FEWEST_WORDS)
    return max(min(words // _WORDS_OF_A_CLASS, MOST_CLASSES), fewest, 1)


def token_vectors(spellings: list[str], facts: ModelFacts) -> Float32s:
    """Return each word's vector in a model's token table, the mean over its tokens, `[words, width]`.

    A word is tokenized as in running text. Its vector is zero if the model has no token table, or if its tokenizer does
    not report token positions.

    Raises:
        InputError: the model or its tokenizer cannot be loaded.
    """
    if not (facts.vocabulary and spellings):
        return np.zeros((len(spellings), 0), np.float32)
    table = load_model(facts, "cpu", "float32").get_input_embeddings().weight.detach()  # type: ignore[operator]
    return embedded(spellings, table, Tokenizer(facts))


def topic_literals(corpus: CorpusWords, vectors: Float32s, seed: int) -> pa.Table:
    """Cluster words by k-means of their directions and return the classes as rows of the pool's `SCHEMA`.

    Directions are measured from the mean of all words. A class is named after its three most typical words; its items
    are all its words, most typical first. A class of one word is omitted, because such a class would be the same as the
    word itself.

    Args:
        corpus: its words.
        vectors: the vector of each word, `[words, width]`; a word whose vector is zero is in no class.
        seed: the seed of the k-means.
    """
    known = np.flatnonzero(np.any(vectors != 0, axis=1))
    if len(known) < _FEWEST_WORDS:
        return literal_rows("word_class", [], [])
    directions = directions_from_mean(vectors[known])
    labels = k_means(directions, classes_of(len(known)), np.random.default_rng([seed, TOPICS]))
    centres = unit(centroids(directions, labels).astype(np.float32))
    closeness = np.einsum("ij,ij->i", directions, centres[labels])
    typical = closeness * np.log(corpus.sentences[known])
    order = np.lexsort((known, -typical, labels))
    classes = np.split(known[order], np.cumsum(np.bincount(labels))[:-1])
    items = [[corpus.words[word] for word in members] for members in classes if len(members) > 1]
    return literal_rows("word_class", [", ".join(words[:_NAMED_BY]) for words in items], items)
