"""Sentences from the activation sample at several quantiles of a neuron's distribution."""

from typing import Any

import numpy as np

from ops.arrays import Float32s, Int64s

QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


def quantile_samples(sent_ids: Int64s, values: Float32s) -> list[dict[str, Any]]:
    """Return a sentence for each quantile, the highest first: `sent_id`, `quantile` and `activation`.

    Args:
        sent_ids: the ids of the sentences in the sample, `[sentences]`.
        values: the neuron's activations for these sentences, `[sentences]`.

    >>> [row["sent_id"] for row in quantile_samples(np.arange(5), np.array([3.0, 1, 0, 4, 2], np.float32))]
    [3, 0, 4, 1, 2]
    """
    if not len(sent_ids):
        return []
    order = np.argsort(values, kind="stable")
    places = (np.array(QUANTILES) * (len(order) - 1)).round().astype(int).tolist()
    # Of the quantiles at the same sentence, the lowest is kept.
    lowest = dict(zip(reversed(places), reversed(QUANTILES), strict=True))
    return [
        {"sent_id": int(sent_ids[order[place]]), "quantile": quantile, "activation": float(values[order[place]])}
        for place, quantile in lowest.items()
    ]
