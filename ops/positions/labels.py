"""What a linear classifier reads out of a model's features, with and without positions: texts of other documents."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_matrix

from ops.arrays import Bools
from ops.errors import InputError, counted
from ops.positions.partial_file import Features
from ops.sampling import DOCUMENTS

TOKENS, MAJORITY = "tokens", "majority"
MOST_CLASSES = 100
_TEST_SHARE, _DRAWS = 0.3, 1_000
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


def check_labels(name: str, found: Labelled, seed: int) -> None:
    """Refuse labels that no classifier can be fitted to.

    Args:
        name: the column.
        found: the texts that have one.
        seed: of the split.

    Raises:
        InputError: no text has one, or they are of one class, of far too many, or of one on the side of the fit.
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
    test = is_test(found.documents, seed)
    fitted = {label for label, held_out in zip(found.labels, test, strict=True) if not held_out}
    if test.all() or not test.any() or len(fitted) < 2:
        raise InputError(
            f"--label {name}: {counted(len(set(found.documents)), 'document')} in the sample, too few for a split by "
            "document; give more, or raise --label-texts"
        )


def is_test(documents: Sequence[str], seed: int) -> Bools:
    """Tell which texts are held out, `[texts]` bool: those of 30 % of the documents, by a seeded draw."""
    distinct = sorted(set(documents))
    order = np.random.default_rng([seed, DOCUMENTS]).permutation(len(distinct))
    held_out = {distinct[i] for i in order[: round(_TEST_SHARE * len(distinct))].tolist()}
    return np.array([document in held_out for document in documents], bool)


def label_rows(model: str, name: str, texts: Labelled, features: Features, seed: int) -> list[dict[str, Any]]:
    """Return the rows of `positions/labels`: a classifier for each variant's features, the tokens, and none.

    Each is a logistic regression with an L2 penalty: on each variant's mean states, standardised (C = 0.01), and on the
    tokens' tf-idf (C = 1).
    Texts that some variant did not measure are left out of all. Where too few are left, there are no rows.

    Args:
        model: its name.
        name: the label's column.
        texts: those of the sample.
        features: what the shards kept of them.
        seed: of the split and of the interval's draws.
    """
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    there = [i for i, text in enumerate(texts.sent_ids) if all(text in v for v in features.vectors.values())]
    ids = [texts.sent_ids[i] for i in there]
    labels = np.array([texts.labels[i] for i in there])
    documents = [texts.documents[i] for i in there]
    test = is_test(documents, seed)
    if not test.any() or len(set(labels[~test])) < 2:
        return []

    def fitted(values: Any, before: Any, penalty: float) -> Bools:
        pipeline = make_pipeline(before, LogisticRegression(C=penalty, max_iter=5_000))
        pipeline.fit(values[~test], labels[~test])
        return np.asarray(pipeline.predict(values[test]) == labels[test])

    right = {
        variant: fitted(np.stack([vectors[i] for i in ids]).astype(np.float64), StandardScaler(), _STATES_C)
        for variant, vectors in features.vectors.items()
    }
    right[TOKENS] = fitted(bag([features.tokens[i] for i in ids]), TfidfTransformer(), 1.0)
    values, counts = np.unique(labels[~test], return_counts=True)
    right[MAJORITY] = labels[test] == values[counts.argmax()]
    held_out = [document for document, held in zip(documents, test, strict=True) if held]
    rows = []
    for what, correct in right.items():
        low, high = interval(correct, held_out, seed)
        numbers = {"n_train": int((~test).sum()), "n": int(test.sum()), "classes": len(set(labels))}
        accuracy = {"accuracy": float(correct.mean()), "low": low, "high": high}
        rows.append({"model": model, "label": name, "features": what, **numbers, **accuracy})
    return sorted(rows, key=lambda row: str(row["features"]))


def bag(tokens: list[list[int]]) -> csr_matrix:
    """Return how often each text has each token, `[texts, highest id + 1]` sparse."""
    rows = np.repeat(np.arange(len(tokens)), [len(t) for t in tokens])
    columns = np.concatenate([np.array(t, np.int64) for t in tokens])
    return csr_matrix((np.ones(len(columns)), (rows, columns)))


def interval(correct: Bools, documents: list[str], seed: int) -> tuple[float, float]:
    """Return the 95 % interval of the share that is correct, documents drawn again 1,000 times (percentiles)."""
    _, place = np.unique(documents, return_inverse=True)
    size = np.bincount(place)
    hits = np.bincount(place, correct)
    rng = np.random.default_rng([seed, DOCUMENTS, 1])
    shares = []
    for _ in range(_DRAWS):
        drawn = rng.integers(0, len(size), len(size))
        shares.append(hits[drawn].sum() / size[drawn].sum())
    low, high = np.percentile(shares, [2.5, 97.5])
    return float(low), float(high)
