"""The part `dimensions` of `compare`: do units with the same index agree across layers more than in rotated bases?"""

from itertools import combinations

import pyarrow as pa

from jobs.compare.job import CompareConfig
from jobs.compare.parts import begin_part
from jobs.engine.item import Item
from jobs.run_folder.run import Run
from jobs.stage.outputs import file_of, read_partials
from jobs.stage.runner import Stage
from jobs.stage.scored import Scored
from jobs.stage.step import Step, Steps
from ops import sampling
from ops.compare.figures import agreement_figure, units_figures
from ops.compare.layer_agreement import Bases, dimension_rows, rotated_rows
from ops.compare.scalar_properties import scalar_properties
from ops.errors import InputError
from ops.figures.files import save_figures

# properties of a small run, and those of them that are measured in rotated bases, for --dry-run
PROPERTIES, ROTATED_PROPERTIES = 150, 10


def dimensions(config: CompareConfig, run: Run) -> None:
    """Write compare/dimensions, compare/rotated and their figures, or the missing part of them."""
    depends_on = config.model_dump(include={"permutations", "rotations", "figure_units"})
    stage = begin_part("dimensions", config, run, depends_on)
    if stage is not None:
        widths = Scored.of(run).neurons.widths
        pairs = max(sum(a == b for a, b in combinations(widths, 2)), 1)
        rows = {"compare/dimensions": PROPERTIES * pairs, "compare/rotated": ROTATED_PROPERTIES * pairs}
        stage.complete(dimension_steps(config, stage), rows)


def dimension_steps(config: CompareConfig, stage: Stage) -> Steps:
    """Measure the agreement of layers in all bases, write the tables and figures, and return the counts."""
    store, scored = stage.store, Scored.of(stage.run)
    bases = range(config.rotations + 1)
    step = Step(
        name="compare: bases", items=[{"basis": basis} for basis in bases], worker=BasisMeasurer,
        outputs=file_of("compare/dimensions", "basis"), unit="bases",
        args={"store": store, "neurons": scored.neurons, "seed": config.seed},
        amount=len(bases) * scored.sampled * len(scored.neurons),
    )  # fmt: skip
    yield [step]
    properties = scalar_properties(store, scored.neurons)
    seed = (config.seed, sampling.PERMUTATIONS)
    rows = dimension_rows(properties, scored.neurons.widths, config.permutations, seed)
    unrotated, *rotated = read_partials(store, step.files)
    rotated_table = rotated_rows(unrotated, rotated)
    stage.write("compare/dimensions", rows)
    stage.write("compare/rotated", rotated_table)
    figures = units_figures(properties, scored.neurons.widths, figure_units(config.figure_units))
    if rotated_table.num_rows:
        figures["distances"] = agreement_figure(rotated_table)
    names = save_figures(store, "compare/figures/dimensions", figures, stage.run.title)
    return {"rows": rows.num_rows, "properties": len(properties), "figures": names}


class BasisMeasurer(Bases):
    """Measures, for each basis, how similar units with the same index are across layers."""

    def __call__(self, item: Item) -> pa.Table:
        """Measure one basis; basis 0 is the model's own."""
        return self.agreement(item["basis"])


def figure_units(text: str) -> tuple[int, int]:
    """Return the first and the last unit of a text FIRST:LAST, both included."""
    first, colon, last = text.partition(":")
    if not (colon and first.isdecimal() and last.isdecimal() and len(last) < 9 and int(first) <= int(last)):
        raise InputError(f"--figure-units {text!r}: expected FIRST:LAST, such as 301:350")
    return int(first), int(last)
