"""The part `dimensions` of `compare`: do units of one number agree across layers, beyond a rotated basis?"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from jobs.engine.item import Item
from jobs.stage.compare_config import CompareConfig
from jobs.stage.compare_files import rotation_file
from jobs.stage.files import write_partial
from jobs.stage.run import Run
from jobs.stage.runner import Stage, Step
from jobs.steps.compare.compared_run import PartWork, begin_part, figure_units, neurons_of, redraw, title_of
from ops import sampling
from ops.compare.activation_vectors import layer_activations, random_rotation, sampled_sentences
from ops.compare.basis_agreement import basis_agreement, sentence_features
from ops.compare.dimension_figures import draw_dimensions
from ops.compare.layer_agreement import dimension_rows, rotated_rows
from ops.compare.scalar_properties import scalar_properties
from ops.schema import schema
from ops.storage.store import Store
from ops.storage.tables import read_table, write_part
from ops.topk.neurons import Neurons

# Measured with the packaged model on one core: seconds of a basis for a value of the sample; and about what is written.
BASIS_S, PROPERTIES, ROW_BYTES, FIGURES_BYTES = 1e-6, 60, 15, 500_000


@dataclass(frozen=True)
class RotationArgs:
    """What a worker is made from; `widths` are the layers'."""

    store: Store
    fingerprint: str
    widths: tuple[int, ...]
    seed: int


def dimensions_part(config: CompareConfig, record: Run) -> PartWork | None:
    """Begin compare/dimensions, compare/rotated and their figures; None where they were done before."""
    identity = {"permutations": config.permutations, "rotations": config.rotations}
    stage = begin_part("dimensions", config, record, identity)
    if stage is None:
        redraw("dimensions", "figure_units", config, record, lambda: draw(config, record, record.store))
        return None
    neurons = neurons_of(record)
    args = RotationArgs(stage.store, stage.fingerprint, neurons.widths, config.seed)
    step = rotations_step(args, config.rotations)
    sample = record.require("topk")["counts"]["activation_sample"]

    def do() -> None:
        stage.do(step)
        publish(config, stage, neurons, step)

    rows = len(neurons.widths) ** 2 * PROPERTIES
    return PartWork(stage, do, [(step, BASIS_S * sample * len(neurons))], rows * ROW_BYTES + FIGURES_BYTES)


def publish(config: CompareConfig, stage: Stage, neurons: Neurons, step: Step) -> None:
    """Write the tables and figures, and finish the stage."""
    store = stage.store
    properties = scalar_properties(store, neurons)
    found = dimension_rows(properties, neurons.widths, config.permutations, (config.seed, sampling.PERMUTATIONS))
    parts = []
    for item in step.items:
        with store.parquet(rotation_file(item["run"]).path) as file:
            parts.append(file.read())
    rotated = rotated_rows(parts[0], parts[1:])
    for name, table in (("compare/dimensions", found), ("compare/rotated", rotated)):
        write_part(store, name, 0, schema(name), [table], stage.fingerprint)
    figures = draw(config, stage.record, store, properties)
    stage.finish({"rows": found.num_rows, "properties": len(properties), "figures": figures})


def draw(
    config: CompareConfig, record: Run, store: Store, properties: dict[str, npt.NDArray[np.float64]] | None = None
) -> list[str]:
    """Draw the figures from the tables that a store has, and return their names."""
    neurons = neurons_of(record)
    own = properties or scalar_properties(store, neurons)
    rotated, units = read_table(store, "compare/rotated"), figure_units(config.figure_units)
    return draw_dimensions(store, own, neurons.widths, rotated, units, title_of(record))


def rotations_step(args: RotationArgs, rotations: int) -> Step:
    """Return the step that measures the agreement of layers in the model's basis and in so many rotated ones."""
    items = [{"run": run} for run in range(rotations + 1)]
    given = {"args": args}
    return Step("compare: bases", items, lambda item: [rotation_file(item["run"])], RotationMeasurer, given, "bases")


class RotationMeasurer:
    """Measures how alike units of one number are across layers in one basis after another."""

    def __init__(self, args: RotationArgs) -> None:
        self.args, self.store = args, args.store
        self.layers = [layer_activations(self.store, i + 1) for i in range(len(args.widths))]
        self.names, self.features = sentence_features(self.store, sampled_sentences(self.store))

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Measure a basis: number 0 is the model's own."""
        run = item["run"]
        layers: list[npt.NDArray[np.floating]] = list(self.layers)
        if run:
            rng = np.random.default_rng([self.args.seed, sampling.ROTATIONS, run])
            # One rotation for all layers of a width: they share the residual stream's basis.
            turns = {width: random_rotation(width, rng) for width in sorted(set(self.args.widths))}
            layers = [layer @ turns[layer.shape[1]] for layer in layers]
        table = basis_agreement(layers, self.names, self.features)
        write_partial(self.store, rotation_file(run), table, self.args.fingerprint)
        return {"run": run}
