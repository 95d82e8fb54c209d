"""The two groups of sentences of a contrast: by the values of a metadata key, by conditions, or texts of one's own."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Bools, Int8s, Int32s, Int64s
from ops.errors import InputError, counted, some_of
from ops.schema import meta_keys
from ops.sentences.codes import document_codes
from ops.sentences.folds import folds

DATASET = "dataset"
COLUMNS = ["dataset", "doc_id", "n_tokens", "text"]
LEAST_SENTENCES, LEAST_DOCUMENTS, MOST_VALUES = 20, 5, 20
MOST_NAMED = 8  # most values that a message names

Condition = tuple[str, str]


@dataclass(frozen=True)
class Contrast:
    """The sentences of two groups, a and b.

    Attributes:
        rows: the row of each sentence among all sentences, ascending, `[n]`.
        is_a: whether each sentence is in group a, `[n]`.
        documents: the document of each sentence, counted from 0, `[n]`.
        datasets: the data set of each sentence, counted from 0, `[n]`; 0 if the groups have no data set in common,
            because the data set is then the contrast itself.
        lengths: the number of model tokens of each sentence, `[n]`.
        folds: the fold of each sentence's document, 0 to 9, `[n]`.
    """

    group: str
    rows: Int64s
    is_a: Bools
    documents: Int64s
    datasets: Int32s
    lengths: Int64s
    folds: Int8s

    @classmethod
    def of(cls, group: str, sentences: pa.Table, is_a: Bools, is_b: Bools, seed: int) -> "Contrast":
        """Return the contrast of two groups of a table of sentences.

        Args:
            sentences: the sentences, with `COLUMNS`.
            is_a, is_b: which sentences are in the groups, `[sentences]`.
            seed: the seed that divides the documents into folds.
        """
        rows = np.flatnonzero(is_a | is_b)
        chosen = sentences.take(pa.array(rows))
        datasets = np.unique(np.array(chosen[DATASET].to_pylist(), object), return_inverse=True)[1]
        common = np.intersect1d(datasets[is_a[rows]], datasets[is_b[rows]])
        codes = document_codes(chosen[DATASET], chosen["doc_id"]).to_numpy()
        return cls(
            group, rows, is_a[rows], np.unique(codes, return_inverse=True)[1],
            (datasets if len(common) else np.zeros(len(rows))).astype(np.int32),
            chosen["n_tokens"].to_numpy().astype(np.int64), folds(codes, seed),
        )  # fmt: skip

    def documents_of(self, group: Bools) -> int:
        """Return the number of documents with a sentence of a group."""
        return len(np.unique(self.documents[group]))

    @property
    def by_sentence(self) -> bool:
        """Whether each document has only one sentence, so that intervals are by sentence."""
        return len(np.unique(self.documents)) == len(self.rows)


def values_of(sentences: pa.Table, key: str, flag: str) -> list[str | None]:
    """Return each sentence's value of a metadata key or `dataset`; None where it lacks the key.

    Raises:
        InputError: the corpus has no such key.
    """
    keys = meta_keys(sentences.schema)
    if key != DATASET and key not in keys:
        raise InputError(f"{flag}: the corpus has no metadata key {key}; it has {', '.join([DATASET, *keys])}")
    column = sentences[DATASET] if key == DATASET else pc.struct_field(sentences["meta"], key)
    values: list[str | None] = column.to_pylist()
    return values


def parse_condition(flag: str, text: str) -> Condition:
    """Return key and value of `KEY=VALUE`.

    Raises:
        InputError: the text is not of this form.
    """
    key, equals, value = (part.strip() for part in text.partition("="))
    if not (key and equals and value):
        raise InputError(f"{flag} {text}: expected KEY=VALUE, such as {DATASET}=news")
    return key, value


def fulfilling(sentences: pa.Table, flag: str, conditions: Sequence[Condition]) -> Bools:
    """Return which sentences fulfil all conditions, `[sentences]`.

    Raises:
        InputError: a key does not exist, or no sentence has a value.
    """
    mask = np.ones(len(sentences), np.bool_)
    for key, value in conditions:
        values = values_of(sentences, key, f"{flag} {key}={value}")
        has_value = np.array([one == value for one in values], np.bool_)
        if not has_value.any():
            raise InputError(f"{flag} {key}={value}: no sentence has this value; {key} has {_named(values)}")
        mask &= has_value
    return mask


def contrast_of_conditions(sentences: pa.Table, a: Sequence[Condition], b: Sequence[Condition], seed: int) -> Contrast:
    """Return the contrast of the sentences that fulfil two lists of conditions.

    Raises:
        InputError: a key or value does not exist, the groups overlap, or one is too small.
    """
    is_a, is_b = fulfilling(sentences, "--a", a), fulfilling(sentences, "--b", b)
    if both := int((is_a & is_b).sum()):
        raise InputError(f"--a and --b: the groups overlap in {counted(both, 'sentence')}; give more conditions")
    names = {"--a": " and ".join(map("=".join, a)), "--b": " and ".join(map("=".join, b))}
    contrast = Contrast.of(names["--a"], sentences, is_a, is_b, seed)
    check_sizes(contrast, [f"{flag} {text}" for flag, text in names.items()])
    return contrast


def contrasts_by_key(sentences: pa.Table, key: str, seed: int) -> tuple[list[Contrast], list[str]]:
    """Return the contrast of each value of a key with all other values, the most frequent first, and notes.

    Raises:
        InputError: the key does not exist, has one value only, or no value has enough sentences and documents.
    """
    flag = f"--by {key}"
    values = values_of(sentences, key, flag)
    counts = Counter(value for value in values if value is not None)
    if len(counts) < 2:
        what = f"has one value only, {next(iter(counts))}" if counts else "has no value"
        raise InputError(f"{flag}: {key} {what} in {counted(len(sentences), 'sentence')}; name another key")
    known, coded = np.array([value is not None for value in values]), np.array(values, object)
    documents = document_codes(sentences[DATASET], sentences["doc_id"]).to_pylist()
    in_documents = Counter(value for value, _ in set(zip(values, documents, strict=True)))
    large = [value for value in counts if counts[value] >= LEAST_SENTENCES and in_documents[value] >= LEAST_DOCUMENTS]
    contrasts: list[Contrast] = []
    for value in sorted(large, key=lambda value: (-counts[value], value)):
        if len(contrasts) < MOST_VALUES:
            is_a = coded == value
            one = Contrast.of(f"{key}={value}", sentences, is_a, known & ~is_a, seed)
            contrasts += [] if too_small(one) else [one]
    if not contrasts:
        raise InputError(
            f"{flag}: no value of {key} and its rest have {LEAST_SENTENCES} sentences and {LEAST_DOCUMENTS} documents "
            f"each; it has {_named(values)}"
        )
    small = counted(len(counts) - len(contrasts), "value")
    left_out = f"{flag}: {small} left out, too rare or after the first {MOST_VALUES}"
    return contrasts, [left_out] if len(contrasts) < len(counts) else []


def contrast_of_texts(a: pa.Table, b: pa.Table, names: Sequence[str], seed: int) -> tuple[Contrast, list[str]]:
    """Return the contrast of two tables of sentences, as rows of both in their order, and notes for the user.

    Sentences that are in both are left out.

    Raises:
        InputError: a group is too small.
    """
    sentences = pa.concat_tables([a, b])
    is_first = np.arange(len(sentences)) < len(a)
    of_both = set(a["text"].to_pylist()) & set(b["text"].to_pylist())
    shared = np.array([text in of_both for text in sentences["text"].to_pylist()], np.bool_)
    contrast = Contrast.of(names[0], sentences, is_first & ~shared, ~is_first & ~shared, seed)
    check_sizes(contrast, [f"--a-texts {names[0]}", f"--b-texts {names[1]}"])
    notes = [f"{counted(int(shared.sum()) // 2, 'sentence')} in both groups, left out"] if shared.any() else []
    return contrast, notes


def too_small(contrast: Contrast) -> list[tuple[int, int, int]]:
    """Return the place (0 for a, 1 for b), sentences and documents of each group that is too small."""
    sizes = [
        (place, int(own.sum()), contrast.documents_of(own)) for place, own in enumerate((contrast.is_a, ~contrast.is_a))
    ]
    return [size for size in sizes if size[1] < LEAST_SENTENCES or size[2] < LEAST_DOCUMENTS]


def check_sizes(contrast: Contrast, names: Sequence[str]) -> None:
    """Refuse a contrast with a group that is too small.

    Raises:
        InputError: the message says which group, named by one of `names`.
    """
    for place, n, documents in too_small(contrast):
        raise InputError(
            f"{names[place]}: has {counted(n, 'sentence')} of {counted(documents, 'document')}, and at least "
            f"{LEAST_SENTENCES} sentences of {LEAST_DOCUMENTS} documents are needed; give a larger group"
        )


def _named(values: Sequence[str | None]) -> str:
    """Return the most frequent values with their numbers of sentences."""
    ranked = Counter(value for value in values if value is not None).most_common()
    return some_of([f"{value} ({n:,})" for value, n in ranked], MOST_NAMED)
