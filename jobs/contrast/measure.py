"""The workers that measure units and fit probes, a contrast and layer at a time, and their files."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import pyarrow as pa
from scipy.sparse import csr_array
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from jobs.contrast.activations import Activations
from jobs.engine.item import Item
from jobs.stage.outputs import Output, partial_file, read_partials
from jobs.stage.scored import StageArgs
from jobs.stage.step import Made
from ops.arrays import Float32s, Int64s
from ops.contrast.groups import Contrast
from ops.contrast.permutations import Permutations, with_permuted_labels
from ops.contrast.probes import Scores, layer_probe, rotated_probes, unit_probes, word_probe
from ops.contrast.tables import LAYER, PERMUTED, RANDOM, ROTATED, UNITS, WORDS
from ops.contrast.units import Separation, separation
from ops.explain.rotation import rotated
from ops.storage.arrays import read_arrays, write_arrays
from ops.storage.store import Store

Found = TypeVar("Found", Separation, Scores)
Layer = TypeVar("Layer", int, int | None)


def units_file(item: Item) -> Output:
    """Return the file of what was measured of a layer's units for a contrast."""
    return partial_file("contrast", f"units-{item['layer']}", item["group"])


def probes_file(item: Item) -> Output:
    """Return the file of the scores of a layer's probes for a contrast; those of words have no layer."""
    name = "words" if item["layer"] is None else f"probes-{item['layer']}"
    return partial_file("contrast", name, item["group"])


def _by_basis(found: Mapping[str, Found]) -> pa.Table:
    """Return the table of a file with what was found in each basis."""
    return write_arrays(**{f"{basis}.{name}": own for basis, of in found.items() for name, own in vars(of).items()})


def read_found(store: Store, files: Mapping[Layer, Output], kind: type[Found]) -> dict[str, dict[Layer, Found]]:
    """Return what was found in each basis and layer, given the file of each layer."""
    found: dict[str, dict[Layer, Found]] = {}
    for layer, table in zip(files, read_partials(store, files.values()), strict=True):
        by_basis: dict[str, dict[str, object]] = {}
        for name, values in read_arrays(table).items():
            basis, _, field = name.partition(".")
            by_basis.setdefault(basis, {})[field] = values
        for basis, fields in by_basis.items():
            found.setdefault(basis, {})[layer] = kind(**fields)  # type: ignore[arg-type]
    return found


@dataclass(frozen=True, kw_only=True)
class ContrastArgs(StageArgs):
    """The arguments of every worker that measures units or probes.

    Attributes:
        own, random: the activations of the run, and those with random weights; None without --random-run.
        units: the number of each unit that is not silent within its layer, by layer.
    """

    contrasts: tuple[Contrast, ...]
    own: Activations
    random: Activations | None
    units: dict[int, Int64s]
    features: bool

    def items(self, layer: int | None) -> list[Item]:
        """Return the items of a layer, or of words, one for each contrast."""
        return [{"group": number, "layer": layer} for number in range(len(self.contrasts))]


class LayerWorker:
    """Reads the activations of a layer in the sentences of a contrast; items name both."""

    def __init__(self, args: ContrastArgs) -> None:
        self.args, self._layer = args, lru_cache(1)(args.own.layer)

    def values(self, item: Item) -> csr_array | Float32s:
        """Return the activations of the layer's units that are not silent, `[n, units]`."""
        rows, layer = self.args.contrasts[item["group"]].rows, item["layer"]
        return self._layer(layer)[rows][:, self.args.units[layer]]


class UnitMeasurer(LayerWorker):
    """Measures how well the units of a layer separate the groups of a contrast, with both controls."""

    def __call__(self, item: Item) -> Made:
        """Measure one layer for one contrast."""
        seed, one, values = self.args.seed, self.args.contrasts[item["group"]], self.values(item)
        with threadpool_limits(1):
            found = {
                UNITS: separation(one, values, Permutations.of(one, seed)),
                PERMUTED: separation(with_permuted_labels(one, seed), values),
            }
            if not self.args.features:
                found[ROTATED] = separation(one, rotated(values, item["layer"], seed, 0, values.shape[1]))
        return {units_file(item): _by_basis(found)}


class Prober(LayerWorker):
    """Fits the probes of a layer, or those of words, for a contrast."""

    def __init__(self, args: ContrastArgs, texts: pa.ChunkedArray) -> None:
        super().__init__(args)
        self.texts = texts

    def __call__(self, item: Item) -> Made:
        """Fit the probes of one layer or of words for one contrast."""
        args, one, layer = self.args, self.args.contrasts[item["group"]], item["layer"]
        with threadpool_limits(1):
            if layer is None:
                found = {WORDS: word_probe(one, self.texts.take(pa.array(one.rows)).to_pylist())}
            else:
                values = self.values(item)
                found = {UNITS: unit_probes(one, values), LAYER: layer_probe(one, values)}
                if not args.features:
                    found[ROTATED] = rotated_probes(one, values, args.seed, layer)
                if args.random is not None and args.random.neurons.width(layer):
                    found[RANDOM] = unit_probes(one, args.random.layer(layer)[one.rows])
        return {probes_file(item): _by_basis(found)}
