"""The pilot of `positions`: each layer's mean state under every variant, by a seeded sample of texts."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import torch

from ops.arrays import Float32s
from ops.errors import InputError, counted
from ops.model.batches import pad
from ops.model.load import ModelFacts
from ops.positions.reader import Batch, VariantReader
from ops.positions.shard import Batches, Means
from ops.positions.variants import DEFAULT, SHIFTED

PILOT_SHARE, LEAST, MOST = 50, 64, 2_048  # the pilot is a fiftieth of the corpus within these


def pilot_size(sentences: int) -> int:
    """Return the number of texts whose mean states are taken for all."""
    return min(sentences, max(LEAST, min(MOST, sentences // PILOT_SHARE)))


class Pilot(NamedTuple):
    """What a sample of texts says.

    Attributes:
        means: by variant, `default` among them, each layer's mean state, `[layers, width]`.
        texts: by variant, how many texts that is the mean of.
        shortest: tokens of the shortest text; 0 where there is none.
    """

    means: Means
    texts: dict[str, int]
    shortest: int


def mean_states(reader: VariantReader, variants: tuple[str, ...], batches: Batches, pad_id: int, device: str) -> Pilot:
    """Return each layer's mean state under every variant and `default`.

    Texts with a state that is not finite, and those that a variant has no positions for, are left out.

    Args:
        reader: the model.
        variants: beside `default`.
        batches: the texts.
        pad_id: token that fills up.
        device: the model's.
    """
    sums: dict[str, torch.Tensor] = {}
    counts = dict.fromkeys((DEFAULT, *variants), 0)
    scored = dict(counts)
    shortest = 0
    for sent_ids, batch in batches:
        ids, real, _ = pad(batch, pad_id, torch.device(device))
        texts = Batch.of(sent_ids, ids, real)
        least = int(real.sum(1).min())
        shortest = min(shortest or least, least)
        for name in counts:
            states = reader.read(texts, name)
            stacked = torch.stack(states.layers)
            good = states.measured.clone()
            good[texts.owner[~torch.isfinite(stacked).all(2).all(0)]] = False
            there = good[texts.owner]
            total = stacked[:, there].double().sum(1)
            sums[name] = sums[name] + total if name in sums else total
            counts[name] += int(there.sum())
            scored[name] += int(good.sum())
    means = {name: (sums[name] / max(n, 1)).float().cpu().numpy() for name, n in counts.items()}
    return Pilot(means, scored, shortest)


def check_pilot(found: Pilot, shift: int, facts: ModelFacts) -> None:
    """Refuse what leaves a variant without a text, since without its mean state nothing can be compared.

    Args:
        found: the pilot.
        shift: of the variant `shifted`.
        facts: the model.

    Raises:
        InputError: no state is finite, or no text is short enough for the shift.
    """
    if not found.texts[DEFAULT]:
        raise InputError(
            f"--model {facts.name}: gave no finite state for any text of the pilot; try --dtype float32, "
            "or another model"
        )
    if found.texts.get(SHIFTED) == 0:
        most = facts.position_limit - found.shortest
        hint = f"give {most} or less" if most > 0 else "name the other ones by --variants"
        raise InputError(
            f"--shift {shift}: the shortest text of the pilot has {counted(found.shortest, 'token')}, too many to be "
            f"moved on so far among the {facts.position_limit} positions of {facts.name}; {hint}"
        )


def pilot_table(means: Means, norms: Float32s) -> pa.Table:
    """Return the pilot's rows: each layer's mean state by variant, and the norms of the position embeddings."""
    rows = [(name, i, layer) for name, mean in means.items() for i, layer in enumerate(mean, 1)]
    rows.append(("", 0, norms))
    names = ("variant", "layer", "values")
    types = (pa.string(), pa.int32(), pa.list_(pa.float32()))
    columns = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), types, strict=True)]
    return pa.table(dict(zip(names, columns, strict=True)))


def read_pilot(table: pa.Table) -> tuple[Means, Float32s]:
    """Return what `pilot_table` laid out."""
    layers: dict[str, list[Float32s]] = {}
    for row in table.to_pylist():
        layers.setdefault(row["variant"], []).append(np.array(row["values"], np.float32))
    norms = layers.pop("")[0]
    return {name: np.stack(found) for name, found in layers.items()}, norms
