"""What a linear classifier reads out of a model's features, with and without positions: texts of other documents."""

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_matrix
from scipy.stats import t

from ops.arrays import Arrays, Bools, Float64s
from ops.errors import InputError, counted
from ops.positions.partial_file import Features
from ops.positions.variants import DEFAULT
from ops.sampling import DOCUMENTS

TOKENS, MAJORITY = "tokens", "majority"
MOST_CLASSES = 100
_TEST_SHARE = 0.3
_STATES_C = 0.01  # inverse strength of the penalty on weights of standardised states, which are many and correlated


@dataclass(frozen=True)
class Labelled:
    """The texts of the label check: ids, labels and documents, all `[texts]`."""

    sent_ids: list[int]
    labels: list[str]
    documents: list[str]

    @classmethod
    def of(cls, tables: Iterable[pa.Table], column: str) -> "Labelled":
        """Return the rows of corpus/ whose metadata have a value in this column."""
        found = cls([], [], [])
        for table in tables:
            for row in table.to_pylist():
                label = row["meta"][column]
                if label is not None:
                    found.sent_ids.append(row["sent_id"])
                    found.labels.append(label)
                    found.documents.append(f"{row['dataset']}\x1f{row['doc_id']}")
        return found


def check_labels(name: str, found: Labelled, seed: int, splits: int) -> None:
    """Refuse labels that no classifier can be fitted to.

    Args:
        name: the column.
        found: the texts that have one.
        seed: of the splits.
        splits: how many, at least two.

    Raises:
        InputError: no text has one, or they are of one class, of far too many, or of one on the side of the fit in all
            splits but one.
    """
    classes = sorted(set(found.labels))
    if not classes:
        raise InputError(f"--label {name}: no text of the sample has a value; name another column")
    if len(classes) < 2:
        raise InputError(
            f"--label {name}: all {len(found.labels):,} texts of the sample are {classes[0]!r}; "
            "a classifier needs two values"
        )
    if len(classes) > MOST_CLASSES:
        raise InputError(
            f"--label {name}: has {len(classes):,} values in {len(found.labels):,} texts; "
            f"name a column of at most {MOST_CLASSES}"
        )
    if len(usable_splits(np.array(found.labels), found.documents, seed, splits)) < 2:
        raise InputError(
            f"--label {name}: {counted(len(set(found.documents)), 'document')} in the sample, too few for a split by "
            "document; give more, or raise --label-texts"
        )


def is_test(documents: Sequence[str], seed: int, split: int) -> Bools:
    """Tell which texts a split holds out, `[texts]` bool: those of 30 % of the documents, by a seeded draw."""
    distinct = sorted(set(documents))
    order = np.random.default_rng([seed, DOCUMENTS, split]).permutation(len(distinct))
    held_out = {distinct[i] for i in order[: round(_TEST_SHARE * len(distinct))].tolist()}
    return np.array([document in held_out for document in documents], bool)


def usable_splits(labels: Arrays, documents: Sequence[str], seed: int, splits: int) -> list[Bools]:
    """Return those of so many splits that hold out some texts and leave two labels or more to fit to."""
    every = (is_test(documents, seed, split) for split in range(splits))
    return [test for test in every if test.any() and len(set(labels[~test].tolist())) > 1]


def label_rows(
    model: str, name: str, texts: Labelled, features: Features, seed: int, splits: int
) -> list[dict[str, Any]]:
    """Return the rows of `positions/labels`: a classifier for each variant's features, the tokens, and none.

    Each is a logistic regression with an L2 penalty: on each variant's mean states, standardised (C = 0.01), and on the
    tokens' tf-idf (C = 1). All are fitted and tried on the same repeated splits by document.
    Texts that some variant did not measure are left out of all. Where fewer than two splits can be fitted to, there are
    no rows.

    Args:
        model: its name.
        name: the label's column.
        texts: those of the sample.
        features: what the shards kept of them.
        seed: of the splits.
        splits: how many.
    """
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    there = [i for i, text in enumerate(texts.sent_ids) if all(text in v for v in features.vectors.values())]
    ids = [texts.sent_ids[i] for i in there]
    labels = np.array([texts.labels[i] for i in there])
    tests = usable_splits(labels, [texts.documents[i] for i in there], seed, splits)
    if len(tests) < 2:
        return []

    def accuracies(values: Any, before: Any, penalty: float) -> Float64s:
        found = []
        for test in tests:
            pipeline = make_pipeline(before(), LogisticRegression(C=penalty, max_iter=5_000))
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
                pipeline.fit(values[~test], labels[~test])
            found.append((pipeline.predict(values[test]) == labels[test]).mean())
        return np.array(found)

    found = {
        variant: accuracies(np.stack([vectors[i] for i in ids]).astype(np.float64), StandardScaler, _STATES_C)
        for variant, vectors in features.vectors.items()
    }
    found[TOKENS] = accuracies(bag([features.tokens[i] for i in ids]), TfidfTransformer, 1.0)
    found[MAJORITY] = np.array([_majority(labels[~test], labels[test]) for test in tests])
    held_out = float(np.mean([test.sum() for test in tests]))
    numbers = {"splits": len(tests), "n_train": round(len(ids) - held_out), "n": round(held_out)}
    rows = []
    for what, own in found.items():
        row = {"model": model, "label": name, "features": what, **numbers, "classes": len(set(labels.tolist()))}
        accuracy, low, high = interval(own)
        row |= {"accuracy": accuracy, "std": float(own.std(ddof=1)), "low": max(low, 0.0), "high": min(high, 1.0)}
        apart = (None, None, None) if what == DEFAULT else interval(own - found[DEFAULT])
        rows.append(row | dict(zip(("difference", "difference_low", "difference_high"), apart, strict=True)))
    return sorted(rows, key=lambda row: str(row["features"]))


def _majority(fitted: Arrays, held_out: Arrays) -> float:
    """Return how often texts that are held out have the most frequent label of the others."""
    values, counts = np.unique(fitted, return_counts=True)
    return float((held_out == values[counts.argmax()]).mean())


def bag(tokens: list[list[int]]) -> csr_matrix:
    """Return how often each text has each token, `[texts, highest id + 1]` sparse."""
    rows = np.repeat(np.arange(len(tokens)), [len(t) for t in tokens])
    columns = np.concatenate([np.array(t, np.int64) for t in tokens])
    return csr_matrix((np.ones(len(columns)), (rows, columns)))


def interval(values: Float64s) -> tuple[float, float, float]:
    """Return the mean of a value over repeated splits, and the ends of its 95 % interval.

    The splits share most of their texts, so that the spread over them says too little by itself. Its variance is
    multiplied by 1/splits + tested/fitted instead of 1/splits, with Student's quantile (Nadeau and Bengio 2003).

    Args:
        values: one for each split, `[splits]`, at least two.

    >>> [round(x, 3) for x in interval(np.array([0.5, 0.6, 0.7]))]
    [0.6, 0.224, 0.976]
    """
    mean, variance = float(values.mean()), float(values.var(ddof=1))
    factor = 1 / len(values) + _TEST_SHARE / (1 - _TEST_SHARE)
    reach = float(t.ppf(0.975, len(values) - 1)) * math.sqrt(variance * factor)
    return mean, mean - reach, mean + reach
