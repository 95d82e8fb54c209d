"""The accuracy of linear classifiers of labels on a model's features, with and without positions, on new documents."""

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
from ops.statistics.interval import UNDEFINED, Interval

TOKENS, MAJORITY = "tokens", "majority"
MOST_CLASSES = 100
_TEST_SHARE = 0.3
_STATES_C = 0.01  # inverse strength of the penalty for standardised states, which are many and correlated


@dataclass(frozen=True)
class Labelled:
    """The texts of the label check with their ids, labels and documents, each `[texts]`."""

    sent_ids: list[int]
    labels: list[str]
    documents: list[str]

    @classmethod
    def of(cls, tables: Iterable[pa.Table], column: str) -> "Labelled":
        """Return the rows of corpus/ that have a value in this column of the metadata."""
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
        found: the texts that have a label.
        seed: the seed of the splits.
        splits: number of splits, at least two.

    Raises:
        InputError: no text has a label, all texts have the same label, there are more than 100 labels, or fewer than
            two splits are usable (see `usable_splits`).
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
    """Return which texts a split holds out, `[texts]` bool: the texts of a seeded random 30 % of the documents."""
    distinct = sorted(set(documents))
    order = np.random.default_rng([seed, DOCUMENTS, split]).permutation(len(distinct))
    held_out = {distinct[i] for i in order[: round(_TEST_SHARE * len(distinct))].tolist()}
    return np.array([document in held_out for document in documents], bool)


def usable_splits(labels: Arrays, documents: Sequence[str], seed: int, splits: int) -> list[Bools]:
    """Return the splits among `splits` that hold out some texts and leave at least two labels for fitting."""
    every = (is_test(documents, seed, split) for split in range(splits))
    return [test for test in every if test.any() and len(set(labels[~test].tolist())) > 1]


def label_rows(
    model: str, name: str, texts: Labelled, features: Features, seed: int, splits: int
) -> list[dict[str, Any]]:
    """Return the rows of `positions/labels`: classifiers of each variant's features and of tokens, and a baseline.

    Each classifier is a logistic regression with an L2 penalty: on each variant's standardised mean states (C = 0.01),
    or on the tokens' tf-idf (C = 1). The baseline predicts the most frequent label. All are fitted and tested on the
    same repeated splits by document. Texts that some variant did not measure are excluded from all classifiers. There
    are no rows if fewer than two splits are usable.

    Args:
        model: the model's name.
        name: the column of the label.
        texts: the texts of the sample.
        features: the features of these texts, from all shards.
        seed: the seed of the splits.
        splits: number of splits.
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
        measured = interval(own)
        measured = measured._replace(low=max(measured.low, 0.0), high=min(measured.high, 1.0))
        apart = UNDEFINED if what == DEFAULT else interval(own - found[DEFAULT])
        row |= {"std": float(own.std(ddof=1))} | measured.columns("accuracy", "") | apart.columns("difference")
        rows.append(row)
    return sorted(rows, key=lambda row: str(row["features"]))


def _majority(fitted: Arrays, held_out: Arrays) -> float:
    """Return the share of held-out texts with the most frequent label of the other texts."""
    values, counts = np.unique(fitted, return_counts=True)
    return float((held_out == values[counts.argmax()]).mean())


def bag(tokens: list[list[int]]) -> csr_matrix:
    """Return how often each token occurs in each text, as a sparse matrix `[texts, highest id + 1]`."""
    rows = np.repeat(np.arange(len(tokens)), [len(t) for t in tokens])
    columns = np.concatenate([np.array(t, np.int64) for t in tokens])
    return csr_matrix((np.ones(len(columns)), (rows, columns)))


def interval(values: Float64s) -> Interval:
    """Return the mean of a value over repeated splits with its 95 % interval.

    The splits share most of their texts, so that their spread alone underestimates the uncertainty. The variance over
    splits is multiplied by 1/splits + tested/fitted instead of 1/splits, and Student's quantile is used (Nadeau and
    Bengio 2003).

    Args:
        values: the value of each split, `[splits]`, for at least two splits.

    >>> [round(x, 3) for x in interval(np.array([0.5, 0.6, 0.7]))]
    [0.6, 0.224, 0.976]
    """
    mean, variance = float(values.mean()), float(values.var(ddof=1))
    factor = 1 / len(values) + _TEST_SHARE / (1 - _TEST_SHARE)
    reach = float(t.ppf(0.975, len(values) - 1)) * math.sqrt(variance * factor)
    return Interval(mean, mean - reach, mean + reach)
