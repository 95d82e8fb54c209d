"""Sizes of the tables of `topk`, estimated from rows of random numbers that are written to memory like real rows."""

import numpy as np
import pyarrow as pa
import torch

from ops.reducers.histogram import Histogram, edges_from_pilot
from ops.reducers.moments import Moments
from ops.schema import group_rows
from ops.storage.tables import stored_bytes
from ops.topk.neurons import POLES
from ops.topk.tables import PoleWinners, neuron_rows, winner_rows

_NEURONS = 32
_PILOT = 1_024


def winners_bytes(neurons: int, k: int, poles: int, sentences: int) -> int:
    """Return the size of topk/ in bytes, with `k` winners for each neuron and pole from `sentences` sentences."""
    # The sample has the number of neurons of a row group, because all rows of a row group share its overhead.
    some = min(neurons, max(group_rows("topk") // max(k * poles, 1), 1))
    rng = np.random.default_rng(0)
    rows = np.arange(some)
    winners = {}
    for pole in POLES[:poles]:
        values = -np.sort(-rng.standard_normal((some, k)).astype(np.float32), axis=1)
        filled = np.ones((some, k), bool)
        winners[pole] = PoleWinners(values, rng.integers(0, max(sentences, 1), (some, k)), filled)
    tables = winner_rows(np.ones(some, np.int16), rows.astype(np.int32), winners)
    return sum(map(stored_bytes, tables)) * neurons // some


def neurons_bytes(neurons: int, sentences: int) -> int:
    """Return the size of neurons/ in bytes after `sentences` sentences."""
    values = torch.randn((min(sentences, _PILOT), _NEURONS), generator=torch.Generator().manual_seed(0))
    edges = edges_from_pilot(values)
    histogram = Histogram(edges)
    histogram.update(values)
    counts = histogram.result().cpu().numpy() * max(sentences // _PILOT, 1)
    numbers = np.arange(_NEURONS)
    layer, unit, largest = np.ones(_NEURONS, np.int16), numbers.astype(np.int32), np.ones(1)
    table = neuron_rows(layer, unit, Moments.of(values), {}, edges.numpy(), counts, largest)
    return stored_bytes(table) * neurons // _NEURONS


def activations_bytes(neurons: int, sample: int) -> int:
    """Return the size of activations/ in bytes, with `sample` sentences and a float for every neuron."""
    some = np.random.default_rng(0).standard_normal(1 << 14).astype(np.float32)
    packed = stored_bytes(pa.table({"layer_1": pa.array(some)})) / len(some)
    return round(neurons * sample * packed)
