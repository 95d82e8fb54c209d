"""The drawn sentences with their classes, short codes of their states, and how often neighbours share a class.

Codes are principal components, those of an autoencoder (Hinton and Salakhutdinov 2006, not pretrained), and the bits of
both.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import nn

from ops import schema
from ops.arrays import Arrays, Bools, Float32s, Float64s, Int64s
from ops.errors import InputError
from ops.meaning.confusion import document_number, is_tested
from ops.sampling import HASHED
from ops.schema import meta_keys
from ops.shards import spans
from ops.statistics.by_document import share_by_document

PCA, AUTOENCODER, STATES, SHUFFLED = "pca", "autoencoder", "states", "shuffled"
REAL, BITS = "real", "bits"
HIDDEN, BATCH, RATE = 256, 256, 1e-3
_NOISE = 4.0  # standard deviation of the noise added to a code's bits in training, so that they become 0 or 1
LABELS = ("topic", "category", "dataset")  # used if no label is requested
LEAST_OF_CLASS = 20  # minimum number of sentences of a class that is used
SIZES = (2, 4, 8, 16, 32, 64)
IN_THE_PLANE = 2  # dimensions
MOST_QUERIES = 2_000
_ROWS = 256


class Codes(NamedTuple):
    """The codes of sentences, and the error of their reconstruction.

    Attributes:
        given, asked: the codes of the sentences to search, and of the query sentences whose neighbours are searched,
            `[n, size]` each.
        error: the share of the variance of the query states that is lost when they are rebuilt from their codes; None
            if they do not vary.
    """

    given: Float32s
    asked: Float32s
    error: float | None


def at_length_1(states: Float32s) -> Float32s:
    """Scale states to length 1, `[n, width]`, so that Euclidean distance orders them like cosine."""
    return np.asarray(states / np.maximum(np.linalg.norm(states, axis=1, keepdims=True), 1e-30), np.float32)


def principal_codes(given: Float32s, queries: Float32s, size: int) -> dict[str, Codes]:
    """Return codes from principal component analysis: the first components, and their signs.

    States are rebuilt from the components, and from the signs by least squares, as fitted on the given states.

    Args:
        given, queries: the states on which the components are fitted, `[n, width]`, and other ones, `[m, width]`.
        size: number of dimensions or bits.
    """
    mean = given.astype(np.float64).mean(0)
    one, other = given.astype(np.float64) - mean, queries.astype(np.float64) - mean
    axes = np.linalg.eigh(one.T @ one)[1][:, ::-1][:, :size]
    # The largest entry of each axis is positive, so that the same states give the same picture.
    axes = axes * np.where(axes[np.abs(axes).argmax(0), np.arange(axes.shape[1])] < 0, -1, 1)
    real, real_queries = one @ axes, other @ axes
    bits, bits_queries = np.where(real > 0, 1.0, -1.0), np.where(real_queries > 0, 1.0, -1.0)
    rebuild, *_ = np.linalg.lstsq(np.hstack([bits, np.ones((len(bits), 1))]), one, rcond=None)
    from_bits = np.hstack([bits_queries, np.ones((len(bits_queries), 1))]) @ rebuild
    return {
        REAL: Codes(real.astype(np.float32), real_queries.astype(np.float32), lost(other, real_queries @ axes.T)),
        BITS: Codes(bits.astype(np.float32), bits_queries.astype(np.float32), lost(other, from_bits)),
    }


def lost(states: Arrays, rebuilt: Arrays) -> float | None:
    """Return the share of the states' variance around 0 that is lost when they are rebuilt; None if they are all 0."""
    variance = float((states**2).sum())
    return float(((states - rebuilt) ** 2).sum()) / variance if variance else None


def autoencoder_codes(given: Float32s, queries: Float32s, size: int, epochs: int, seed: int) -> dict[str, Codes]:
    """Return the codes of an autoencoder with a linear code and of one with a binary code.

    The layers have width, 256, code size, 256 and width units; the hidden ones use tanh. The units of a binary code are
    logistic, with noise added to their input in training (Salakhutdinov and Hinton 2009). This function runs on the CPU
    with the threads of this process. The same states, seed and number of threads give the same codes.

    Args:
        given, queries: the training states, `[n, width]`, and other states to encode, `[m, width]`.
        seed: the seed of the weights, the order and the noise.
    """
    mean = given.mean(0)
    scale = max(float((given - mean).std()), 1e-12)
    training, query_states = (torch.from_numpy((s - mean) / scale) for s in (given, queries))
    codes = {}
    for kind in (REAL, BITS):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed * 1_000 + size)
            encoder, decoder = _train(training, size, kind == BITS, epochs)
        with torch.inference_mode():
            code, code_queries = encoder(training), encoder(query_states)
            if kind == BITS:
                code, code_queries = (code > 0).float(), (code_queries > 0).float()
            error = lost(query_states.double().numpy(), decoder(code_queries).double().numpy())
        codes[kind] = Codes(code.numpy(), code_queries.numpy(), error)
    return codes


def _train(states: torch.Tensor, size: int, bits: bool, epochs: int) -> tuple[nn.Sequential, nn.Sequential]:
    """Return the encoder and the decoder, trained on states `[n, width]`."""
    width = states.shape[1]
    encoder = nn.Sequential(nn.Linear(width, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, size))
    decoder = nn.Sequential(nn.Linear(size, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, width))
    descent = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=RATE)
    for _ in range(epochs):
        for rows in torch.randperm(len(states)).split(BATCH):
            descent.zero_grad()
            code = encoder(states[rows])
            if bits:
                code = torch.sigmoid(code + _NOISE * torch.randn_like(code))
            loss = ((decoder(code) - states[rows]) ** 2).mean()
            loss.backward()
            descent.step()
    return encoder, decoder


class Labelled(NamedTuple):
    """The classes of sentences for one label; too rare classes are none.

    Attributes:
        classes: the names of the classes, in the order of their indices.
        number: the index of each sentence's class, `[sentences]`; -1 for a sentence without a class.
    """

    name: str
    classes: list[str]
    number: Int64s

    @property
    def names(self) -> list[str | None]:
        """The name of each sentence's class; None for a sentence without a class."""
        return [self.classes[i] if i >= 0 else None for i in self.number]


@dataclass(frozen=True)
class Drawn:
    """The drawn sentences.

    Attributes:
        sent_ids: the ids of the sentences, ascending, `[sentences]`.
        documents, tested: the index of each sentence's document, and whether it is held out, `[sentences]`.
    """

    sent_ids: Int64s
    documents: Int64s
    tested: Bools
    labels: list[Labelled]

    def only(self, wanted: Bools) -> "Drawn":
        """Return the sentences for which `wanted`, `[sentences]` bool, is true; indices of classes do not change."""
        labels = [label._replace(number=label.number[wanted]) for label in self.labels]
        return Drawn(self.sent_ids[wanted], self.documents[wanted], self.tested[wanted], labels)

    def shuffled(self, seed: int) -> "Drawn":
        """Return the control, in which the classes of labelled held-out sentences are in random order."""
        rng = np.random.default_rng([seed, HASHED])
        labels = [label._replace(number=label.number.copy()) for label in self.labels]
        for label in labels:
            held = np.flatnonzero(self.tested & (label.number >= 0))
            label.number[held] = rng.permutation(label.number[held])
        return replace(self, labels=labels)


def labelled(name: str, values: list[str | None]) -> Labelled:
    """Return the classes of a label with at least `LEAST_OF_CLASS` sentences each, sorted by name."""
    counts = Counter(value for value in values if value is not None)
    classes = sorted(value for value, n in counts.items() if n >= LEAST_OF_CLASS)
    places: dict[str | None, int] = {value: i for i, value in enumerate(classes)}
    return Labelled(name, classes, np.array([places.get(value, -1) for value in values], np.int64))


def label_drawn(sent_ids: Int64s, tables: Iterable[pa.Table], label: str | None, seed: int) -> Drawn:
    """Return drawn sentences with their classes; without labels if no column has two classes.

    Args:
        tables: these sentences with `dataset`, `doc_id`, and `meta` if the corpus has it.
        label: the column whose values are the classes; None for all columns of `LABELS` that the corpus has.

    Raises:
        InputError: the requested label has fewer than two classes.
    """
    table = pa.concat_tables(tables)
    datasets, names = (table[column].to_pylist() for column in ("dataset", "doc_id"))
    values: dict[str, list[str | None]] = {"dataset": datasets}
    for key in meta_keys(table.schema):
        values[key] = pc.struct_field(table["meta"], key).to_pylist()
    wanted = [label] if label else [name for name in LABELS if name in values]
    labels = [column for column in (labelled(name, values[name]) for name in wanted) if len(column.classes) > 1]
    if label and not labels:
        distinct = set(values[label]) - {None}
        number = f"has {len(distinct):,} values" if len(distinct) != 1 else f"has only the value {distinct.pop()!r}"
        raise InputError(
            f"--label {label}: {number} in the {len(sent_ids):,} drawn sentences, and at least two must occur in "
            f"{LEAST_OF_CLASS} or more; name another column, or raise --hashed-sentences"
        )
    pairs = list(zip(datasets, names, strict=True))
    _, documents = np.unique(np.array([f"{d}\x1f{n}" for d, n in pairs], object), return_inverse=True)
    tested = is_tested(np.array([document_number(*pair, seed) for pair in pairs], np.uint64))
    return Drawn(sent_ids, documents.astype(np.int64), tested, labels)


def methods_and_sizes(width: int) -> list[tuple[str, int]]:
    """Return every method and size for states of `width` units, ending with the uncompressed states."""
    sizes = [size for size in SIZES if size < width]
    return [(method, size) for size in sizes for method in (AUTOENCODER, PCA)] + [(STATES, width)]


class HashedStates:
    """The finite ones among the states of drawn sentences, `[sentences, width]` float32, to compress and compare."""

    def __init__(self, drawn: Drawn, states: Float32s, seed: int) -> None:
        good = np.asarray(np.isfinite(states).all(1))
        self.drawn, self.states, self.seed = drawn.only(good), at_length_1(states[good]), seed

    def codes(self, method: str, size: int, epochs: int) -> dict[str, Codes]:
        """Return the codes of a method and size, as a mapping from `real` or `bits` to codes.

        Raises:
            InputError: all documents are held out, or no document is held out.
        """
        tested = self.drawn.tested
        given, queries = self.states[~tested], self.states[tested]
        if not len(given) or not len(queries):
            raise InputError("--hashed-sentences: too few documents to fit on some and test on the rest; raise it")
        if method == STATES:
            return {REAL: Codes(given, queries, 0.0)}
        if method == PCA:
            return principal_codes(given, queries, size)
        return autoencoder_codes(given, queries, size, epochs, self.seed)

    def rows(self, codes: dict[str, Codes], method: str, size: int, neighbours: int) -> pa.Table:
        """Return the rows of `meaning/hashing` for some codes; uncompressed states also get the control's rows."""
        measured = [(method, code, own, own.error, self.drawn) for code, own in codes.items()]
        if method == STATES:
            measured.append((SHUFFLED, REAL, codes[REAL], None, self.drawn.shuffled(self.seed)))
        rows = [
            {"method": name, "code": code, "size": size, "error": error, **row}
            for name, code, own, error, drawn in measured
            for row in measure_codes(own, drawn, neighbours)
        ]
        return schema.table("meaning/hashing", rows)

    def plane(self, codes: dict[str, Codes], method: str) -> pa.Table:
        """Return the rows of `meaning/plane`: the two-dimensional codes of the held-out sentences."""
        ids, points = self.drawn.sent_ids[self.drawn.tested], codes[REAL].asked
        columns = {"method": [method] * len(ids), "sent_id": ids, "x": points[:, 0], "y": points[:, 1]}
        return schema.table("meaning/plane", columns)


def retrieved_classes(given: Float32s, queries: Float32s, classes: Int64s, neighbours: int) -> Float64s:
    """Return the share of each class among each query's nearest neighbours by Euclidean distance, `[queries, classes]`.

    Short codes have many ties. All sentences at the distance of the last neighbour share the remaining places equally.

    Args:
        given, queries: the codes to search, `[n, size]`, and the codes of the queries, `[m, size]`.
        classes: the class of each searched sentence, `[n]`, from 0.
        neighbours: number of neighbours; all sentences if there are fewer.
    """
    most = min(neighbours, len(given))
    one_hot = np.eye(int(classes.max(initial=0)) + 1)[classes]
    wide = given.astype(np.float64)
    lengths = (wide**2).sum(1)
    shares = np.zeros((len(queries), one_hot.shape[1]))
    for start, stop in spans(len(queries), _ROWS):
        # Rounded to ten decimal places, so that equal codes are equally distant in any order of addition.
        distance = np.round(lengths - 2 * queries[start:stop].astype(np.float64) @ wide.T, 10)
        last = np.partition(distance, most - 1, axis=1)[:, most - 1 : most]
        nearer, level = distance < last, distance == last
        left = (most - nearer.sum(1)) / level.sum(1)
        shares[start:stop] = (nearer @ one_hot + left[:, None] * (level @ one_hot)) / most
    return shares


def measure_codes(codes: Codes, drawn: Drawn, neighbours: int) -> list[dict[str, Any]]:
    """Return the precision for each label; held-out sentences are the queries, and all other sentences are searched.

    The chance level is the precision of the same neighbours for queries with randomly permuted classes. The interval is
    None if all queries are from one document.
    """
    rows: list[dict[str, Any]] = []
    for label in drawn.labels:
        given, query_classes = label.number[~drawn.tested], label.number[drawn.tested]
        # A class that occurs only among queries, or only among the searched sentences, can never be found.
        both = np.intersect1d(given, query_classes)
        searched, queries = (np.flatnonzero(np.isin(side, both) & (side >= 0)) for side in (given, query_classes))
        # Queries are evenly spread over all sentences, which are in the order of the corpus.
        queries = queries[np.linspace(0, len(queries) - 1, min(len(queries), MOST_QUERIES)).astype(np.int64)]
        classes = len(np.unique(given[searched]))
        if classes < 2 or not len(queries):
            continue
        retrieved = retrieved_classes(codes.given[searched], codes.asked[queries], given[searched], neighbours)
        truth = query_classes[queries]
        share = np.bincount(truth, minlength=retrieved.shape[1]) / len(truth)
        precision = share_by_document(retrieved[np.arange(len(truth)), truth], drawn.documents[drawn.tested][queries])
        known = {"label": label.name, "classes": classes, "n": len(queries), "neighbours": neighbours}
        rows.append(known | precision.columns("precision", "") | {"chance": float(share @ retrieved.mean(0))})
    return rows
