"""The part `dimensions` of `compare`: do units with the same index agree across layers more than in rotated bases?"""

from functools import partial
from typing import Any

from jobs.compare.compared_run import PartArgs, neurons_of, part_args, part_plan, redraw, run_part, title_of
from jobs.compare.job import CompareConfig, figure_units
from jobs.engine.item import Item
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.outputs import partial_file, read_partials, write_partial
from jobs.stage.run import Run
from jobs.stage.runner import Stage, Step
from ops import sampling
from ops.arrays import Float64s
from ops.compare.basis_agreement import Bases
from ops.compare.dimension_figures import draw_dimensions
from ops.compare.layer_agreement import dimension_rows, rotated_rows
from ops.compare.scalar_properties import scalar_properties
from ops.schema import schema
from ops.storage.store import Store
from ops.storage.tables import read_table, write_part

# Measured with the packaged model on one core: the seconds per basis and value of the sample; and the approximate bytes
# written.
BASIS_S, PROPERTIES, ROW_BYTES, FIGURES_BYTES = 3e-7, 60, 15, 500_000
# The file of the agreement of layers in a basis: basis 0 is the model's own, the others are rotated.
basis_file = partial(partial_file, "compare/dimensions", "basis")


def dimensions_part(config: CompareConfig, record: Run) -> None:
    """Write compare/dimensions, compare/rotated and their figures, or the missing part of them."""
    depends_on = {"permutations": config.permutations, "rotations": config.rotations}
    stage = run_part("dimensions", config, record, depends_on, part_args, measure, plan)
    if stage is None:
        redraw("dimensions", "figure_units", config, record, lambda: draw(config, record, record.store))


def measure(config: CompareConfig, stage: Stage, args: PartArgs) -> dict[str, Any]:
    """Measure the agreement of layers in all bases, write the tables and figures, and return the counts."""
    step = bases_step(args, config.rotations)
    stage.do(step)
    properties = scalar_properties(stage.store, args.neurons)
    found = dimension_rows(properties, args.neurons.widths, config.permutations, (config.seed, sampling.PERMUTATIONS))
    own, *rotated = read_partials(stage.store, [basis_file(item["basis"]) for item in step.items])
    for name, table in (("compare/dimensions", found), ("compare/rotated", rotated_rows(own, rotated))):
        write_part(stage.store, name, 0, schema(name), [table], stage.fingerprint)
    figures = draw(config, stage.record, stage.store, properties)
    return {"rows": found.num_rows, "properties": len(properties), "figures": figures}


def plan(config: CompareConfig, stage: Stage, args: PartArgs, record: DryRun) -> Plan:
    """Return what the part would do."""
    basis_s = BASIS_S * record.require("topk")["counts"]["activation_sample"] * len(args.neurons)
    kept = len(args.neurons.widths) ** 2 * PROPERTIES * ROW_BYTES + FIGURES_BYTES
    return part_plan(stage, record, [(bases_step(args, config.rotations), basis_s)], kept)


def draw(config: CompareConfig, record: Run, store: Store, properties: dict[str, Float64s] | None = None) -> list[str]:
    """Draw the figures from the tables in a store, and return their names."""
    neurons = neurons_of(record)
    own = properties or scalar_properties(store, neurons)
    rotated, units = read_table(store, "compare/rotated"), figure_units(config.figure_units)
    return draw_dimensions(store, own, neurons.widths, rotated, units, title_of(record))


def bases_step(args: PartArgs, rotations: int) -> Step:
    """Return the step that measures the agreement of layers in the model's basis and in `rotations` rotated bases."""
    items = [{"basis": basis} for basis in range(rotations + 1)]
    given = {"args": args}
    return Step("compare: bases", items, lambda item: [basis_file(item["basis"])], BasisMeasurer, given, "bases")


class BasisMeasurer:
    """Measures, for each basis, how similar units with the same index are across layers."""

    def __init__(self, args: PartArgs) -> None:
        self.args = args
        self.bases = Bases(args.store, args.neurons, args.seed)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Measure one basis; basis 0 is the model's own."""
        table = self.bases.agreement(item["basis"])
        write_partial(self.args.store, basis_file(item["basis"]), table, self.args.fingerprint)
        return {"basis": item["basis"]}
