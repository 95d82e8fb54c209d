"""The workers that measure units and fit probes, a contrast and layer at a time, and their files."""

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from jobs.contrast.activations import Activations
from jobs.engine.item import Item
from jobs.stage.outputs import Output, partial_file
from jobs.stage.scored import StageArgs
from jobs.stage.step import Made
from ops.arrays import Int64s
from ops.contrast.groups import Contrast
from ops.contrast.permutations import Permutations
from ops.contrast.probes import layer_probe, rotated_probes, unit_probes, word_probe
from ops.contrast.tables import PERMUTED, ROTATED, UNITS
from ops.contrast.units import Matched, separation, with_permuted_labels
from ops.explain.rotation import rotated
from ops.storage.arrays import write_arrays


def units_file(item: Item) -> Output:
    """Return the file of what was measured of a layer's units for a contrast."""
    return partial_file("contrast", f"units-{item['layer']}", item["group"])


def probes_file(item: Item) -> Output:
    """Return the file of the scores of a layer's probes for a contrast; those of words have no layer."""
    name = "words" if item["layer"] is None else f"probes-{item['layer']}"
    return partial_file("contrast", name, item["group"])


@dataclass(frozen=True, kw_only=True)
class ContrastArgs(StageArgs):
    """The arguments of every worker that measures units or probes.

    Attributes:
        contrasts: the contrasts.
        own, random: the activations of the run, and those with random weights; None without --random-run.
        units: the number of each unit that is not silent within its layer, by layer.
        features: whether units are features of dictionaries.
    """

    contrasts: tuple[Contrast, ...]
    own: Activations
    random: Activations | None
    units: dict[int, Int64s]
    features: bool


class UnitMeasurer:
    """Measures how well the units of a layer separate the groups of a contrast, with both controls."""

    def __init__(self, args: ContrastArgs) -> None:
        self.args = args
        self.layer = lru_cache(1)(args.own.layer)

    def __call__(self, item: Item) -> Made:
        """Measure one layer for one contrast."""
        args, one, layer = self.args, self.args.contrasts[item["group"]], int(item["layer"])
        sample, units = self.layer(layer), args.units[layer]
        sparse = sample.offsets is not None
        permutations, matched = Permutations.of(one, args.seed), Matched.of(one)

        def values(first: int, stop: int) -> Any:
            own = units[first:stop]
            block = sample.of_units(int(own[0]), int(own[-1]) + 1)
            return block[np.ix_(one.rows, own - own[0])]

        measure = partial(separation, values=values, units=len(units), sparse=sparse)
        permuted = with_permuted_labels(one, permutations, args.seed)
        with threadpool_limits(1):
            found = {
                UNITS: measure(one, matched, permutations=permutations),
                PERMUTED: measure(permuted, Matched.of(permuted), permutations=None),
            }
            if not args.features:
                whole = sample.values[one.rows][:, units]
                found[ROTATED] = separation(
                    one, matched, lambda a, b: rotated(whole, layer, args.seed, a, b), len(units), None, False
                )
        arrays = {f"{basis}.{name}": own for basis, of in found.items() for name, own in vars(of).items()}
        return {units_file(item): write_arrays(**arrays)}


class Prober:
    """Fits the probes of a layer, or those of words, for a contrast."""

    def __init__(self, args: ContrastArgs, texts: pa.ChunkedArray) -> None:
        self.args, self.texts = args, texts

    def __call__(self, item: Item) -> Made:
        """Fit the probes of one layer or of words for one contrast."""
        args, one = self.args, self.args.contrasts[item["group"]]
        with threadpool_limits(1):
            if item["layer"] is None:
                words = word_probe(one, self.texts.take(pa.array(one.rows)).to_pylist())
                return {probes_file(item): write_arrays(**vars(words))}
            layer = int(item["layer"])
            values = args.own.matrix(layer)[one.rows][:, args.units[layer]]
            found = {"units": unit_probes(one, values), "layers": layer_probe(one, values)}
            arrays = {f"{basis}.{name}": own for basis, of in found.items() for name, own in vars(of).items()}
            if not args.features:
                several = rotated_probes(one, values, args.seed, layer)
                arrays |= {
                    f"rotated.{name}": np.stack([getattr(own, name) for own in several]) for name in vars(several[0])
                }
            if args.random is not None and args.random.neurons.width(layer):
                random = unit_probes(one, args.random.matrix(layer)[one.rows])
                arrays |= {f"random.{name}": own for name, own in vars(random).items()}
        return {probes_file(item): write_arrays(**arrays)}
