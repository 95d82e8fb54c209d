"""Every scalar property of neurons in the finished tables, each as one vector over all neurons."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Bools, Float64s, Int64s
from ops.storage.store import Store
from ops.storage.tables import read_parts
from ops.topk.neurons import Neurons
from ops.topk.silent import read_silent

_OF_NEURONS = (
    "mean", "std", "skew", "kurtosis", "min", "max", "top_threshold", "bottom_threshold", "top_mean", "bottom_mean",
)  # fmt: skip
_OF_SCORES = ("auc", "matched_auc")


def scalar_properties(store: Store, neurons: Neurons) -> dict[str, Float64s]:
    """Return all scalar properties of `neurons/`, `means/`, `scores/` and `profiles/` by name, `[neurons]` float64.

    A name consists of the table, the property and, if there is one, the pole: `neurons:skew`,
    `means:words_per_sentence:top`, `scores:auc:bottom`, `profiles:dataset=news:top` (a share). Silent neurons have NaN.
    A property that is null for some other neuron is skipped. Of `profiles/`, only values that at least half of these
    other neurons have are used. A neuron without such a value gets the share 0, even if `mine` omitted the value only
    because it is rare (`min_count`).
    """
    heard = ~read_silent(store, neurons)
    found = {f"neurons:{name}": values for name, values in neuron_columns(store, "neurons", _OF_NEURONS, neurons)}
    found |= _by_key(store, "means", ("property", "pole"), "mean", "means", neurons)
    for column in _OF_SCORES:
        found |= _by_key(store, "scores", ("pole",), column, f"scores:{column}", neurons)
    found |= _shares(store, neurons, heard)
    return {name: np.where(heard, values, np.nan) for name, values in found.items() if np.isfinite(values[heard]).all()}


def _numbers(table: pa.Table, neurons: Neurons) -> Int64s:
    return neurons.number(table["layer"].to_numpy(), table["unit"].to_numpy())


def neuron_columns(
    store: Store, table: str, names: tuple[str, ...], neurons: Neurons
) -> Iterator[tuple[str, Float64s]]:
    """Yield columns of a table with a row for each neuron, by name, `[neurons]` float64; NaN if it has no row."""
    found = {name: np.full(len(neurons), np.nan) for name in names}
    for part in read_parts(store, table, ["layer", "unit", *names]):
        number = _numbers(part, neurons)
        for name in names:
            found[name][number] = part[name].to_numpy()
    yield from found.items()


def _by_key(
    store: Store, table: str, keys: tuple[str, ...], column: str, prefix: str, neurons: Neurons
) -> dict[str, Float64s]:
    """Return a column of a table with a row for each neuron and key, by key; NaN if a neuron has no row."""
    found: dict[str, Float64s] = {}
    for part in read_parts(store, table, ["layer", "unit", *keys, column]):
        number, values = _numbers(part, neurons), part[column].to_numpy()
        names = np.array(
            [":".join((prefix, *row)) for row in zip(*(part[key].to_pylist() for key in keys), strict=True)]
        )
        for name in np.unique(names):
            own = names == name
            found.setdefault(str(name), np.full(len(neurons), np.nan))[number[own]] = values[own]
    return found


def _shares(store: Store, neurons: Neurons, heard: Bools) -> dict[str, Float64s]:
    keys = ["property", "value", "pole"]
    counts: Counter[tuple[str, ...]] = Counter()
    for part in read_parts(store, "profiles", ["layer", "unit", *keys, "count"]):
        own = part.filter(pa.array(heard[_numbers(part, neurons)]))
        there = own.filter(pc.greater(own["count"], 0)).group_by(keys).aggregate([("count", "count")])
        counts.update({(row["property"], row["value"], row["pole"]): row["count_count"] for row in there.to_pylist()})
    names = [key for key, count in counts.items() if 2 * count >= heard.sum()]
    place = {key: i for i, key in enumerate(names)}
    values = np.zeros((len(names), len(neurons)))
    for part in read_parts(store, "profiles", ["layer", "unit", *keys, "share"]):
        labels = zip(*(part[key].to_pylist() for key in keys), strict=True)
        row = np.array([place.get(label, -1) for label in labels], np.int64)
        own = row >= 0
        values[row[own], _numbers(part, neurons)[own]] = part["share"].to_numpy()[own]
    return {f"profiles:{name}={value}:{pole}": values[i] for i, (name, value, pole) in enumerate(names)}
