"""The pilot of `positions`: mean states and the panel for random pairs, from a seeded sample of texts."""

from typing import NamedTuple

import pyarrow as pa
import torch

from ops.arrays import Float32s
from ops.errors import InputError, counted
from ops.model.batches import pad
from ops.model.load import ModelFacts
from ops.positions.reader import Batch, VariantReader
from ops.positions.shard import Batches, Means
from ops.positions.similarity import Panel, PanelDraw
from ops.positions.variants import DEFAULT, SHIFTED
from ops.storage.arrays import read_arrays, write_arrays

_MEAN = "mean/"  # precedes the name of the variant that a mean state belongs to
# The pilot is a fiftieth of the corpus within these bounds. Means over only 64 texts left an error of 0.01 in the
# cosines of random pairs.
PILOT_SHARE, LEAST, MOST = 50, 512, 2_048


def pilot_size(sentences: int) -> int:
    """Return the number of texts in the pilot, whose mean states are used for the complete corpus."""
    return min(sentences, max(LEAST, min(MOST, sentences // PILOT_SHARE)))


class Pilot(NamedTuple):
    """The results of the pilot on a sample of texts.

    Attributes:
        means: for each variant and `default`, each layer's mean state, `[layers, width]`.
        texts: for each variant and `default`, the number of texts in the mean.
        shortest: number of tokens of the shortest text; 0 if there are no texts.
    """

    means: Means
    panel: Panel
    texts: dict[str, int]
    shortest: int


def mean_states(reader: VariantReader, variants: tuple[str, ...], batches: Batches, pad_id: int, device: str) -> Pilot:
    """Return each layer's mean state under `default` and these variants, and the panel.

    Texts with a state that is not finite are left out of a variant's mean. So are texts that are too long for the
    positions of a variant.
    """
    sums: dict[str, torch.Tensor] = {}
    counts = dict.fromkeys((DEFAULT, *variants), 0)
    scored = dict(counts)
    drawn, shortest = PanelDraw(reader.seed), 0
    for sent_ids, batch in batches:
        ids, real, _ = pad(batch, pad_id, torch.device(device))
        texts = Batch(sent_ids, ids, real)
        least = int(real.sum(1).min())
        shortest = min(shortest or least, least)
        for name in counts:
            states = reader.read(texts, name)
            stacked = torch.stack(states.layers)
            good = states.measured.clone()
            good[texts.owner[~torch.isfinite(stacked).all(2).all(0)]] = False
            of_good = good[texts.owner]
            kept = stacked[:, of_good]
            total = kept.double().sum(1)
            sums[name] = sums[name] + total if name in sums else total
            counts[name] += int(of_good.sum())
            scored[name] += int(good.sum())
            if name == DEFAULT:
                places = real.nonzero()[:, 1][of_good].cpu().numpy()
                drawn.add(sent_ids[texts.owner[of_good].cpu().numpy()], places, kept)
    means = {name: (sums[name] / max(n, 1)).float().cpu().numpy() for name, n in counts.items()}
    return Pilot(means, drawn.result(), scored, shortest)


def check_pilot(pilot: Pilot, shift: int, facts: ModelFacts) -> None:
    """Refuse a pilot in which a variant has no text, because nothing can be compared without its mean state.

    Raises:
        InputError: no state is finite, or no text is short enough for the shift.
    """
    if not pilot.texts[DEFAULT]:
        raise InputError(
            f"--model {facts.name}: gave no finite state for any text of the pilot; try --dtype float32, "
            "or another model"
        )
    if pilot.texts.get(SHIFTED) == 0:
        most = facts.position_limit - pilot.shortest
        hint = f"give {most} or less" if most > 0 else "give the other ones with --variants"
        raise InputError(
            f"--shift {shift}: the shortest text of the pilot has {counted(pilot.shortest, 'token')}, too many to be "
            f"moved that far among the {facts.position_limit} positions of {facts.name}; {hint}"
        )


def pilot_table(means: Means, panel: Panel, norms: Float32s) -> pa.Table:
    """Return mean states by variant, the panel, and the norms of position embeddings as a table."""
    variants = {_MEAN + variant: states for variant, states in means.items()}
    return write_arrays(norms=norms, sent_ids=panel.sent_ids, states=panel.states, **variants)


def read_pilot(table: pa.Table) -> tuple[Means, Panel, Float32s]:
    """Return the means, the panel and the norms from a table of `pilot_table`."""
    arrays = read_arrays(table)
    means = {name.removeprefix(_MEAN): states for name, states in arrays.items() if name.startswith(_MEAN)}
    return means, Panel(arrays["sent_ids"], arrays["states"]), arrays["norms"]
