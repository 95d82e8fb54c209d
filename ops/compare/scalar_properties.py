"""Every scalar property of neurons in the finished tables, each as one vector over all neurons."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Bools, Float64s, Int64s
from ops.forms.forms import NAMES
from ops.storage.store import Store
from ops.storage.tables import read_parts
from ops.topk.neurons import Neurons
from ops.topk.silent import read_silent

_OF_NEURONS = (
    "mean", "std", "skew", "kurtosis", "min", "max", "top_threshold", "bottom_threshold", "top_mean", "bottom_mean",
)  # fmt: skip


def scalar_properties(store: Store, neurons: Neurons) -> dict[str, Float64s]:
    """Return all scalar properties of `neurons/`, `means/`, `scores/` and `profiles/` by name, `[neurons]` float64.

    A name consists of the table, the property and, if there is one, the pole: `neurons:skew`,
    `means:words_per_sentence:top`, `scores:auc:bottom`, `profiles:dataset=news:top` (a share). Silent neurons have NaN.
    A property that is null for some other neuron is skipped. Of `profiles/`, only values that at least half of these
    other neurons have are used, and no forms, since words and tags say the same. A neuron without such a value gets the
    share 0, even if `mine` omitted the value only because it is rare (`min_count`).
    """
    heard = ~read_silent(store, neurons)
    columns = neuron_columns(store, "neurons", _OF_NEURONS, neurons)
    properties = {f"neurons:{name}": values for name, values in columns.items()}
    properties |= _by_key(store, "means", ("property", "pole"), "mean", "means", neurons)
    for column in ("auc", "matched_auc"):
        properties |= _by_key(store, "scores", ("pole",), column, f"scores:{column}", neurons)
    properties |= _shares(store, neurons, heard)
    known = {name: values for name, values in properties.items() if np.isfinite(values[heard]).all()}
    return {name: np.where(heard, values, np.nan) for name, values in known.items()}


def _numbers(table: pa.Table, neurons: Neurons) -> Int64s:
    return neurons.number(table["layer"].to_numpy(), table["unit"].to_numpy())


def neuron_columns(store: Store, table: str, names: tuple[str, ...], neurons: Neurons) -> dict[str, Float64s]:
    """Return columns of a table with a row for each neuron, by name, `[neurons]` float64; NaN if it has no row."""
    columns = {name: np.full(len(neurons), np.nan) for name in names}
    for part in read_parts(store, table, ["layer", "unit", *names]):
        number = _numbers(part, neurons)
        for name in names:
            columns[name][number] = part[name].to_numpy()
    return columns


def _by_key(
    store: Store, table: str, keys: tuple[str, ...], column: str, prefix: str, neurons: Neurons
) -> dict[str, Float64s]:
    """Return a column of a table with a row for each neuron and key, by key; NaN if a neuron has no row."""
    columns: dict[str, Float64s] = {}
    for part in read_parts(store, table, ["layer", "unit", *keys, column]):
        number, values = _numbers(part, neurons), part[column].to_numpy()
        labels = zip(*(part[key].to_pylist() for key in keys), strict=True)
        names = np.array([":".join((prefix, *label)) for label in labels])
        for name in np.unique(names):
            rows = names == name
            columns.setdefault(str(name), np.full(len(neurons), np.nan))[number[rows]] = values[rows]
    return columns


def _shares(store: Store, neurons: Neurons, heard: Bools) -> dict[str, Float64s]:
    keys = ["property", "value", "pole"]
    counts: Counter[tuple[str, ...]] = Counter()
    for part in read_parts(store, "profiles", ["layer", "unit", *keys, "count"]):
        is_form = pc.is_in(part["property"], pa.array(NAMES)).to_numpy()
        having = part.filter(pa.array(heard[_numbers(part, neurons)] & (part["count"].to_numpy() > 0) & ~is_form))
        counts.update(zip(*(having[key].to_pylist() for key in keys), strict=True))
    names = [key for key, count in counts.items() if 2 * count >= heard.sum()]
    place = {key: i for i, key in enumerate(names)}
    values = np.zeros((len(names), len(neurons)))
    for part in read_parts(store, "profiles", ["layer", "unit", *keys, "share"]):
        labels = zip(*(part[key].to_pylist() for key in keys), strict=True)
        row = np.array([place.get(label, -1) for label in labels], np.int64)
        wanted = row >= 0
        values[row[wanted], _numbers(part, neurons)[wanted]] = part["share"].to_numpy()[wanted]
    return {f"profiles:{name}={value}:{pole}": values[i] for i, (name, value, pole) in enumerate(names)}
