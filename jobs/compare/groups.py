"""The part `groups` of `compare`: which neurons fire together, per layer and overall, and what distinguishes them."""

from dataclasses import dataclass
from typing import Any

from jobs.compare.compared_run import PartArgs, neurons_of, part_args, part_plan, redraw, run_part, title_of
from jobs.compare.job import CompareConfig
from jobs.engine.item import Item
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.outputs import TablePart, table_part
from jobs.stage.run import Run
from jobs.stage.runner import Stage, Step
from ops.compare.group_figures import draw_groups
from ops.compare.neuron_groups import OF_A_LAYER, OF_ALL, NeuronGroups
from ops.storage.store import Store
from ops.storage.tables import read_table

# Measured on one core: the seconds per point and per number of groups; the approximate bytes written.
POINT_S, NEURON_BYTES, FIGURES_BYTES = 0.002, 100, 1_500_000


@dataclass(frozen=True)
class GroupArgs(PartArgs):
    """The arguments of a worker."""

    groups: int
    numbers: tuple[int, ...]
    sentences: int


def groups_part(config: CompareConfig, record: Run) -> None:
    """Write the tables of groups and their figures, or the missing part of them."""
    depends_on = {name: getattr(config, name) for name in ("group_count", "group_sentences")}
    depends_on["group_range"] = list(numbers_of(config))
    stage = run_part("groups", config, record, depends_on, group_args, find, plan)
    if stage is None:
        redraw("groups", "figure_layer", config, record, lambda: draw(config, record, record.store))


def find(config: CompareConfig, stage: Stage, args: GroupArgs) -> dict[str, Any]:
    """Group the neurons, draw the figures, and return the counts."""
    stage.do(groups_step(args))
    rows = read_table(stage.store, "compare/joint_groups", columns=["unit"]).num_rows
    return {"rows": rows, "figures": draw(config, stage.record, stage.store)}


def plan(config: CompareConfig, stage: Stage, args: GroupArgs, record: DryRun) -> Plan:
    """Return what the part would do."""
    step, neurons = groups_step(args), len(args.neurons)
    seconds = (3 * neurons / len(step.items) + args.sentences) * len(args.numbers) * POINT_S
    return part_plan(stage, record, [(step, seconds)], neurons * NEURON_BYTES + FIGURES_BYTES)


def numbers_of(config: CompareConfig) -> tuple[int, ...]:
    """Return the numbers of groups whose quality is measured, ascending."""
    return tuple(sorted(set(config.group_range)))


def group_args(config: CompareConfig, stage: Stage) -> GroupArgs:
    """Return the arguments of the workers."""
    return GroupArgs(
        **vars(part_args(config, stage)), groups=config.group_count, numbers=numbers_of(config),
        sentences=config.group_sentences,
    )  # fmt: skip


def draw(config: CompareConfig, record: Run, store: Store) -> list[str]:
    """Draw the figures from the tables in a store, and return their names."""
    layers = len(neurons_of(record).widths)
    tables = {name: read_table(store, name) for name in {*OF_A_LAYER, *OF_ALL}}
    return draw_groups(store, tables, min(config.figure_layer, layers), title_of(record))


def groups_step(args: GroupArgs) -> Step:
    """Return the step that groups the neurons of each layer and, as its last item, the neurons of all layers."""
    items = [{"layer": layer} for layer in range(1, len(args.neurons.widths) + 1)]
    return Step("compare: groups", [*items, {"layer": 0}], group_outputs, GroupWorker, {"args": args}, "layers")


def group_outputs(item: Item) -> list[TablePart]:
    """Return the table parts of a layer, or (layer 0) of all layers together, which come first in tables with both."""
    layer = item["layer"]
    return [
        table_part(table, layer if table in OF_ALL else layer - 1, f"layer-{layer}")
        for table in (OF_A_LAYER if layer else OF_ALL)
    ]


class GroupWorker:
    """Groups the neurons and the sentences of layers."""

    def __init__(self, args: GroupArgs) -> None:
        self.args = args
        self.groups = NeuronGroups(args.store, args.neurons, args.groups, args.numbers, args.sentences, args.seed)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Group the neurons of one layer, or (layer 0) of all layers."""
        tables = self.groups.tables(item["layer"])
        for output in group_outputs(item):
            output.write(self.args.store, [tables[output.table]], self.args.fingerprint)
        return {"layer": item["layer"]}
