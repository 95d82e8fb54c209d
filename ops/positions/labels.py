"""The accuracy of linear classifiers of labels on a model's features, with and without positions, on new documents."""

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_matrix

from ops.arrays import Arrays, Bools, Float64s
from ops.errors import InputError, counted
from ops.positions.shard import Features
from ops.positions.variants import DEFAULT
from ops.sampling import DOCUMENTS
from ops.statistics.interval import UNDEFINED, Interval, t_quantile

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
        rows = [row for table in tables for row in table.to_pylist() if row["meta"][column] is not None]
        documents = [f"{row['dataset']}\x1f{row['doc_id']}" for row in rows]
        return cls([row["sent_id"] for row in rows], [row["meta"][column] for row in rows], documents)


def check_labels(name: str, texts: Labelled, seed: int, splits: int) -> None:
    """Refuse labels, the values of the column `name`, that no classifier can be fitted to.

    Raises:
        InputError: no text has a label, all texts have the same label, there are more than 100 labels, or fewer than
            two splits are usable (see `usable_splits`).
    """
    classes = sorted(set(texts.labels))
    if not classes:
        raise InputError(f"--label {name}: no text of the sample has a value; name another column")
    if len(classes) < 2:
        raise InputError(
            f"--label {name}: all {len(texts.labels):,} texts of the sample are {classes[0]!r}; "
            "a classifier needs two values"
        )
    if len(classes) > MOST_CLASSES:
        raise InputError(
            f"--label {name}: has {len(classes):,} values in {len(texts.labels):,} texts; "
            f"name a column of at most {MOST_CLASSES}"
        )
    if len(usable_splits(np.array(texts.labels), texts.documents, seed, splits)) < 2:
        raise InputError(
            f"--label {name}: {counted(len(set(texts.documents)), 'document')} in the sample, too few for a split by "
            "document; give more, or raise --label-texts"
        )


def is_test(documents: Sequence[str], seed: int, split: int) -> Bools:
    """Return which texts a split holds out, `[texts]` bool: the texts of a seeded random 30 % of the documents."""
    distinct, number = np.unique(np.array(documents, object), return_inverse=True)
    order = np.random.default_rng([seed, DOCUMENTS, split]).permutation(len(distinct))
    return np.isin(number, order[: round(_TEST_SHARE * len(distinct))])


def usable_splits(labels: Arrays, documents: Sequence[str], seed: int, splits: int) -> list[Bools]:
    """Return the splits among `splits` that hold out some texts and leave at least two labels for fitting."""
    every = (is_test(documents, seed, split) for split in range(splits))
    return [test for test in every if test.any() and len(set(labels[~test].tolist())) > 1]


def label_rows(
    model: str, name: str, texts: Labelled, features: Features, variants: Sequence[str], seed: int, splits: int
) -> list[dict[str, Any]]:
    """Return the rows of `positions/labels`: classifiers of each variant's features and of tokens, and a baseline.

    Each classifier is a logistic regression with an L2 penalty: on each variant's standardised mean states (C = 0.01),
    or on the tokens' tf-idf (C = 1). The baseline predicts the most frequent label. All are fitted and tested on the
    same repeated splits by document. Texts that some variant did not measure are excluded from all classifiers. There
    are no rows if fewer than two splits are usable.

    Args:
        model, name: the model's name, and the column of the label.
        texts: the texts of the sample, by ascending id.
        features: the features of these texts, from all shards.
        variants: `default` and the variants, in the order of the features.
        seed, splits: the seed of the splits, and their number.
    """
    from sklearn.base import clone
    from sklearn.dummy import DummyClassifier
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if not len(features.sent_ids):
        return []
    complete = np.isfinite(features.vectors).all((1, 2))
    rows = np.searchsorted(texts.sent_ids, features.sent_ids[complete]).tolist()
    labels = np.array([texts.labels[row] for row in rows])
    tests = usable_splits(labels, [texts.documents[row] for row in rows], seed, splits)
    if len(tests) < 2:
        return []

    def accuracies(values: Any, classifier: Any) -> Float64s:
        shares = []
        for test in tests:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
                fitted = clone(classifier).fit(values[~test], labels[~test])
            shares.append((fitted.predict(values[test]) == labels[test]).mean())
        return np.array(shares)

    of_states = make_pipeline(StandardScaler(), LogisticRegression(C=_STATES_C, max_iter=5_000))
    vectors = features.vectors[complete].astype(np.float64)
    measured = {variant: accuracies(vectors[:, i], of_states) for i, variant in enumerate(variants)}
    # How often each token occurs in each text, `[texts, highest id + 1]`.
    owner, ids = np.repeat(np.cumsum(complete) - 1, features.lengths), features.tokens
    kept = np.repeat(complete, features.lengths)
    tokens = csr_matrix((np.ones(kept.sum()), (owner[kept], ids[kept])))
    measured[TOKENS] = accuracies(tokens, make_pipeline(TfidfTransformer(), LogisticRegression(max_iter=5_000)))
    measured[MAJORITY] = accuracies(tokens, DummyClassifier(strategy="most_frequent"))
    held_out = float(np.mean([test.sum() for test in tests]))
    numbers = {"splits": len(tests), "n_train": round(len(rows) - held_out), "n": round(held_out)}
    known = {"model": model, "label": name, **numbers, "classes": len(set(labels.tolist()))}
    table = []
    for what, shares in measured.items():
        share = interval(shares)
        share = share._replace(low=max(share.low, 0.0), high=min(share.high, 1.0))
        apart = UNDEFINED if what == DEFAULT else interval(shares - measured[DEFAULT])
        row = {**known, "features": what, "std": float(shares.std(ddof=1))}
        table.append(row | share.columns("accuracy", "") | apart.columns("difference"))
    return table


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
    reach = float(t_quantile(len(values) - 1)) * math.sqrt(variance * factor)
    return Interval(mean, mean - reach, mean + reach)
