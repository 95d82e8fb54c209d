"""The counts of words and of their contexts, and vectors from these: PPMI and truncated SVD."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import regex  # type: ignore[import-untyped]
import scipy.sparse as sp

from ops.arrays import Bools, Float32s, Float64s, Int32s, Int64s
from ops.errors import InputError
from ops.meaning.words import SENTENCE_END, fold, numbered, split_words, words_and_ends
from ops.sampling import random_state
from ops.schema import group_rows, schema
from ops.shards import spans
from ops.storage.small_files import read_small_file

_TOGETHER = 1 << 22  # number of rows that are summed at once
_SENTENCES = 10_000  # number of sentences whose contexts are counted at once
CONTEXTS, WORDS = "meaning/contexts", "meaning/words"
_OVERSAMPLES, _ITERATIONS = 20, 7
_CONTENT = regex.compile(r"\p{L}[\p{L}\p{M}]+")  # letters with their combining marks


@dataclass(frozen=True)
class Vocabulary:
    """The counted words and the context words, in the order of their UTF-8 bytes.

    Attributes:
        counts: how often each word occurs, `[words]` int64.
        row: the row of each word among the counted words, `[words]` int32; -1 if the word is too rare.
        column: the column of each word among the context words, `[words]` int32; -1 if it is not a context word.
    """

    words: list[str]
    counts: Int64s
    row: Int32s
    column: Int32s

    @property
    def rows(self) -> list[str]:
        """The counted words, in the order of their rows."""
        return [self.words[i] for i in np.flatnonzero(self.row >= 0)]

    @property
    def columns(self) -> list[str]:
        """The context words, in the order of their columns."""
        return [self.words[i] for i in np.flatnonzero(self.column >= 0)]

    def to_table(self) -> pa.Table:
        """Return the vocabulary as a table of `word`, `count`, `row` and `column`."""
        columns = {"word": pa.array(self.words, pa.string()), "count": self.counts}
        return pa.table({**columns, "row": self.row, "column": self.column})

    @classmethod
    def from_table(cls, table: pa.Table) -> "Vocabulary":
        """Return the vocabulary from a table that `to_table` made."""
        numbers = (table[name].to_numpy() for name in ("count", "row", "column"))
        return cls(table["word"].to_pylist(), *numbers)


def count_words(texts: list[str], case: str) -> pa.Table:
    """Return the words of sentences with their counts, sorted by word: `word`, `count` int64."""
    counts = Counter(words_and_ends(texts, case))
    counts.pop("\n", None)
    table = pa.table({"word": pa.array(counts.keys(), pa.string()), "count": pa.array(counts.values(), pa.int64())})
    return table.sort_by("word")


def add_counts(tables: Iterable[pa.Table]) -> pa.Table:
    """Return the sums of tables of two columns, a key and its count, with one row for each key, sorted by key.

    There is at least one table, and all have the same columns. Addition is associative and commutative. In memory are
    the distinct keys and some millions of rows.
    """
    kept: list[pa.Table] = []
    for table in tables:
        kept.append(table)
        if sum(t.num_rows for t in kept[1:]) > max(_TOGETHER, kept[0].num_rows):
            kept = [_sums(kept)]
    return _sums(kept).sort_by(kept[0].column_names[0])


def _sums(tables: list[pa.Table]) -> pa.Table:
    key, count = tables[0].column_names
    sums = pa.concat_tables(tables).group_by(key).aggregate([(count, "sum")])
    return sums.select([key, f"{count}_sum"]).rename_columns([key, count]).combine_chunks()


def choose(counts: pa.Table, min_count: int, context_words: int | list[str]) -> Vocabulary:
    """Return the vocabulary: words with a count of at least `min_count`, and the context words.

    Args:
        counts: all words of the corpus, sorted, as `add_counts` returns them.
        min_count: minimum count of a word with a row; a context word may be rarer.
        context_words: the number of most frequent content words to use (ties ordered by word), or the list of words.

    Raises:
        InputError: a context word never occurs, no word is frequent enough, or there is no context word.
    """
    chosen = _most_frequent(counts, context_words) if isinstance(context_words, int) else context_words
    count = counts["count"].to_numpy()
    is_context = pc.is_in(counts["word"], pa.array(chosen, pa.string())).to_numpy()
    if is_context.sum() < len(chosen):
        absent = sorted({*chosen} - {*counts["word"].filter(is_context).to_pylist()})
        more = f" (nor do {len(absent) - 1} more)" if len(absent) > 1 else ""
        raise InputError(
            f"--context-words: {absent[0]!r} never occurs in the corpus{more}; leave it out, or see --word-case"
        )
    is_frequent = count >= min_count
    if not is_frequent.any():
        raise InputError(
            f"--min-count {min_count}: no word occurs so often; the most frequent occurs {count.max(initial=0)} times"
        )
    if not is_context.any():
        raise InputError("--context-words: the corpus has no content word; name some in a file")
    kept = is_context | is_frequent
    words = counts["word"].filter(kept).to_pylist()
    return Vocabulary(words, count[kept], _number(is_frequent[kept]), _number(is_context[kept]))


def _number(marked: Bools) -> Int32s:
    return np.where(marked, np.cumsum(marked) - 1, -1).astype(np.int32)


def _most_frequent(counts: pa.Table, most: int) -> list[str]:
    """Return the most frequent content words: two or more letters and marks, not among spaCy's stop words."""
    from spacy.lang.en.stop_words import STOP_WORDS  # type: ignore[import-not-found]

    ordered = counts.sort_by([("count", "descending"), ("word", "ascending")])["word"]
    words = (scalar.as_py() for scalar in ordered)
    content = (word for word in words if _CONTENT.fullmatch(word) and word.lower() not in STOP_WORDS)
    return list(islice(content, most))


def read_context_words(value: str, case: str) -> int | list[str]:
    """Read `--context-words`: a number, or a file with one word on each line.

    Raises:
        InputError: the value is neither a number nor a readable file, or the file has no word or a line that is not one
            word.
    """
    if value.isdecimal():
        if not 1 <= int(value) < 1_000_000:
            raise InputError(
                f"--context-words {value}: give a number from 1 to 999,999, or a file with one word per line"
            )
        return int(value)
    wrong = "is neither a number nor a file that can be read; give a word a line in UTF-8"
    words: dict[str, None] = {}
    for number, padded in enumerate(read_small_file("--context-words", value, wrong).splitlines(), 1):
        line = padded.strip()
        if line:
            if split_words(line) != [fold(line, "keep")]:
                raise InputError(f"--context-words {value}: line {number} is not one word: {line[:60]!r}")
            words[fold(line, case)] = None
    if not words:
        raise InputError(f"--context-words {value}: the file holds no word")
    return list(words)


class ContextCounter:
    """Counts the contexts of the words of a vocabulary: `window` words on each side, within the sentence.

    Words that are not counted still occupy positions in the window.
    """

    def __init__(self, vocabulary: Vocabulary, window: int, case: str) -> None:
        self.vocabulary, self.window, self.case = vocabulary, window, case
        self.numbers = {word: i for i, word in enumerate(vocabulary.words)}

    def count(self, texts: list[str]) -> pa.Table:
        """Count the pairs of some sentences; in memory are one chunk and the distinct pairs.

        Returns:
            A table of the pairs with `key` (the row times the number of columns, plus the column) in ascending order,
            and `total`: how often the word of that row occurred near the context word of that column. `add_counts` adds
            up the tables of disjoint sets of sentences.
        """
        starts = range(0, max(len(texts), 1), _SENTENCES)
        return add_counts(self._count_chunk(texts[start : start + _SENTENCES]) for start in starts)

    def _count_chunk(self, texts: list[str]) -> pa.Table:
        words, columns = numbered(words_and_ends(texts, self.case), self.numbers), len(self.vocabulary.columns)
        sentence = np.cumsum(words == SENTENCE_END)
        # Other words, and the ends of sentences, are negative and take the last entry.
        rows, contexts = (
            np.append(numbers, -1)[np.maximum(words, -1)].astype(np.int64)
            for numbers in (self.vocabulary.row, self.vocabulary.column)
        )
        keys = [np.zeros(0, np.int64)]
        for distance in range(1, self.window + 1):
            apart = slice(None, -distance), slice(distance, None)
            for one, other in (apart, apart[::-1]):
                kept = (rows[one] >= 0) & (contexts[other] >= 0) & (sentence[one] == sentence[other])
                keys.append(rows[one][kept] * columns + contexts[other][kept])
        distinct, totals = np.unique(np.concatenate(keys), return_counts=True)
        return pa.table({"key": distinct, "total": totals})


def ppmi(
    count: Int64s, row: Int64s, column: Int64s, row_sums: Int64s, column_sums: Int64s, smoothing: float
) -> Float64s:
    """Return the positive pointwise mutual information of pairs, in nats (Levy, Goldberg and Dagan 2015).

    The value is max(0, ln(P(w, c) / (P(w) P_s(c)))). P(w, c) is the pair's share of all pairs, and P(w) is the word's
    share. P_s(c) is the context word's share after counts are raised to the power `smoothing`, which is 0.75 in the
    paper; 1 leaves the counts unchanged.

    Args:
        count: the count of each pair, `[pairs]`.
        row, column: the index of each pair's word and of its context word, `[pairs]`.
        row_sums, column_sums: the sum of counts over all pairs of each word, `[words]`, and of each context word,
            `[contexts]`.

    >>> two = np.array([0, 1]), np.array([0, 1]), np.array([3, 3]), np.array([3, 3])
    >>> ppmi(np.array([3, 3]), *two, 0.75).round(3).tolist()
    [0.693, 0.693]
    """
    smoothed = np.maximum(column_sums.astype(np.float64) ** smoothing, 1e-300)
    # ln(count / row_sum) - ln(share of the context word): the total number of pairs cancels.
    share = np.log(smoothed) - np.log(smoothed.sum()) if len(smoothed) else smoothed
    return np.asarray(np.maximum(np.log(count) - np.log(row_sums[row].astype(np.float64)) - share[column], 0.0))


def factorise(matrix: sp.csr_matrix, dimensions: int, power: float, seed: int) -> Float32s:
    """Return a vector for each row of a sparse matrix, `[rows, dimensions]` float32: U S^power of its truncated SVD.

    This function uses scikit-learn's randomized SVD (Halko, Martinsson and Tropp 2011) on one thread, so that every run
    gives the same bits. The vectors have fewer dimensions if the matrix has fewer rows or columns.

    Args:
        matrix: the sparse matrix, `[rows, columns]`.
        power: the exponent of the singular values. 1 preserves the rows' inner products best; 0.5 and less give the
            first dimensions less weight.
    """
    from sklearn.utils.extmath import randomized_svd
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    wanted = min(dimensions, *matrix.shape)
    with threadpool_limits(1):
        left, values, _ = randomized_svd(
            matrix, wanted, n_oversamples=_OVERSAMPLES, n_iter=_ITERATIONS, random_state=random_state(seed)
        )
    return np.asarray(left * values**power, np.float32)


class ContextTables:
    """Makes the tables of counts, given how often each context word was counted, `[contexts]`; keeps all pairs."""

    def __init__(self, vocabulary: Vocabulary, column_sums: Int64s, smoothing: float) -> None:
        self.vocabulary, self.column_sums, self.smoothing = vocabulary, column_sums, smoothing
        self.words, self.contexts = (np.array(w, object) for w in (vocabulary.rows, vocabulary.columns))
        self._parts: list[tuple[Int64s, Int64s, Float64s]] = []

    def pairs(self, ranges: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Yield `meaning/contexts`, one table for each row group, and keep the PPMI values for the vectors.

        `ranges` are, for each range of words, the `row`, `column` and `count` of all its pairs.
        """
        for table in ranges:
            row, column, count = (c.to_numpy() for c in table.columns)
            row_sums = np.bincount(row, count, len(self.words)).astype(np.int64)
            values = ppmi(count, row, column, row_sums, self.column_sums, self.smoothing)
            self._parts.append((row, column, values))
            for first, stop in spans(len(row), group_rows(CONTEXTS)):
                piece = slice(first, stop)
                columns = {
                    "word": self.words[row[piece]], "context": self.contexts[column[piece]], "count": count[piece],
                    "ppmi": values[piece].astype(np.float32),
                }  # fmt: skip
                yield pa.table(columns, schema=schema(CONTEXTS))

    def vectors(self, dimensions: int, power: float, seed: int) -> pa.Table:
        """Return `meaning/words`; call this method after `pairs` has processed all ranges.

        The arguments are those of `factorise`.
        """
        row, column, values = (np.concatenate(c) for c in zip(*self._parts, strict=True))
        matrix = sp.csr_matrix((values, (row, column)), (len(self.words), len(self.contexts)))
        vectors = pa.array(list(factorise(matrix, dimensions, power, seed)))
        counts = self.vocabulary.counts[self.vocabulary.row >= 0]
        columns = {"word": self.words, "count": counts, "vector": vectors}
        return pa.table(columns, schema=schema(WORDS))
