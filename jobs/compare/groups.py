"""The part `groups` of `compare`: which neurons fire together, per layer and overall, and what distinguishes them."""

from jobs.compare.job import CompareConfig
from jobs.compare.parts import begin_part, redraw
from jobs.engine.item import Item
from jobs.run_folder.run import Run
from jobs.stage.outputs import TablePart, table_part
from jobs.stage.runner import Stage
from jobs.stage.scored import Scored
from jobs.stage.step import Made, Step, Steps
from ops.compare.figures import groups_figure, quality_figure
from ops.compare.neuron_groups import OF_A_LAYER, OF_ALL, NeuronGroups
from ops.figures.files import save_figures
from ops.storage.store import Store
from ops.storage.tables import read_table


def groups(config: CompareConfig, run: Run) -> None:
    """Write the tables of groups and their figures, or the missing part of them."""
    depends_on = config.model_dump(include={"group_count", "group_sentences"})
    stage = begin_part("groups", config, run, {**depends_on, "group_range": list(numbers_of(config))})
    if stage is None:
        redraw("groups", "figure_layer", config, run, draw)
    else:
        scored = Scored.of(run)
        rows = dict.fromkeys(("compare/groups", "compare/joint_groups"), len(scored.neurons))
        stage.complete(group_steps(config, stage, scored), rows)


def group_steps(config: CompareConfig, stage: Stage, scored: Scored) -> Steps:
    """Group the neurons of each layer and, as the last item, of all layers; draw the figures and return the counts."""
    numbers, layers = numbers_of(config), range(1, len(scored.neurons.widths) + 1)
    points = 3 * len(scored.neurons) + (len(layers) + 1) * config.group_sentences
    yield [
        Step(
            name="compare: groups", items=[{"layer": layer} for layer in (*layers, 0)], outputs=group_outputs,
            worker=LayerGrouper, unit="layers", amount=points * len(numbers),
            args={
                "store": stage.store, "neurons": scored.neurons, "groups": config.group_count, "numbers": numbers,
                "sentences": config.group_sentences, "seed": config.seed,
            },
        )
    ]  # fmt: skip
    rows = stage.store.dataset("compare/joint_groups").count_rows()
    return {"rows": rows, "figures": draw(config, stage.run, stage.store)}


def numbers_of(config: CompareConfig) -> tuple[int, ...]:
    """Return the numbers of groups whose quality is measured, ascending."""
    return tuple(sorted(set(config.group_range)))


def group_outputs(item: Item) -> list[TablePart]:
    """Return the table parts of a layer, or (layer 0) of all layers together, which come first in tables with both."""
    layer = item["layer"]
    return [
        table_part(table, layer if table in OF_ALL else layer - 1, f"layer-{layer}")
        for table in (OF_A_LAYER if layer else OF_ALL)
    ]


class LayerGrouper(NeuronGroups):
    """Groups the neurons and the sentences of layers."""

    def __call__(self, item: Item) -> Made:
        """Group the neurons of one layer, or (layer 0) of all layers."""
        tables = self.tables(item["layer"])
        return {output: tables[output.table] for output in group_outputs(item)}


def draw(config: CompareConfig, run: Run, store: Store) -> list[str]:
    """Draw the figures from the tables in a store, and return their names."""
    layer = min(config.figure_layer, len(Scored.of(run).neurons.widths))
    tables = {name: read_table(store, name) for name in {*OF_A_LAYER, *OF_ALL}}
    figures = {"maps": groups_figure(tables, layer), "quality": quality_figure(tables["compare/group_quality"])}
    return save_figures(store, "compare/figures/groups", figures, run.title)
