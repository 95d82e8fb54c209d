"""The part `dimensions` of `compare`: do units with the same index agree across layers more than in rotated bases?"""

from itertools import combinations

import pyarrow as pa

from jobs.compare.job import CompareConfig
from jobs.compare.parts import begin_part, redraw
from jobs.engine.item import Item
from jobs.run_folder.run import Run
from jobs.stage.outputs import file_of, read_partials
from jobs.stage.runner import Stage
from jobs.stage.scored import Scored
from jobs.stage.step import Step, Steps
from ops import sampling
from ops.arrays import Float64s
from ops.compare.figures import agreement_figure, units_figures
from ops.compare.layer_agreement import Bases, dimension_rows, rotated_rows
from ops.compare.scalar_properties import scalar_properties
from ops.errors import InputError
from ops.figures.files import save_figures
from ops.storage.store import Store
from ops.storage.tables import read_table

# properties of a small run, and those of them that are measured in rotated bases, for --dry-run
PROPERTIES, ROTATED_PROPERTIES = 150, 10


def dimensions(config: CompareConfig, run: Run) -> None:
    """Write compare/dimensions, compare/rotated and their figures, or the missing part of them."""
    depends_on = config.model_dump(include={"permutations", "rotations"})
    stage = begin_part("dimensions", config, run, depends_on)
    if stage is None:
        redraw("dimensions", "figure_units", config, run, draw)
    else:
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
    stage.write("compare/dimensions", rows)
    stage.write("compare/rotated", rotated_rows(unrotated, rotated))
    figures = draw(config, stage.run, store, properties)
    return {"rows": rows.num_rows, "properties": len(properties), "figures": figures}


class BasisMeasurer(Bases):
    """Measures, for each basis, how similar units with the same index are across layers."""

    def __call__(self, item: Item) -> pa.Table:
        """Measure one basis; basis 0 is the model's own."""
        return self.agreement(item["basis"])


def draw(config: CompareConfig, run: Run, store: Store, properties: dict[str, Float64s] | None = None) -> list[str]:
    """Draw the figures from the tables in a store, and return their names."""
    neurons = Scored.of(run).neurons
    values = properties or scalar_properties(store, neurons)
    figures = units_figures(values, neurons.widths, figure_units(config.figure_units))
    rotated = read_table(store, "compare/rotated")
    if rotated.num_rows:
        figures["distances"] = agreement_figure(rotated)
    return save_figures(store, "compare/figures/dimensions", figures, run.title)


def figure_units(text: str) -> tuple[int, int]:
    """Return the first and the last unit of a text FIRST:LAST, both included."""
    first, colon, last = text.partition(":")
    if not (colon and first.isdecimal() and last.isdecimal() and len(last) < 9 and int(first) <= int(last)):
        raise InputError(f"--figure-units {text!r}: expected FIRST:LAST, such as 301:350")
    return int(first), int(last)
