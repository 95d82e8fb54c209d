"""The part `neighbours` of `compare`, which finds the nearest neurons by correlation and by shared winners."""

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from jobs.compare.job import CompareConfig
from jobs.compare.parts import begin_part
from jobs.engine.item import Item
from jobs.run_folder.run import Run
from jobs.stage.outputs import whole_table
from jobs.stage.ranges import range_part, table_ranges
from jobs.stage.runner import Stage
from jobs.stage.scored import Scored, StageArgs
from jobs.stage.step import Made, Step, Steps
from jobs.stage.units import chosen_units
from ops import sampling
from ops.compare.activation_vectors import layer_activations, neuron_vectors
from ops.compare.figures import nearest_figure
from ops.compare.near_neurons import NeighbourFinder, finder_bytes, nearest_rows, read_winner_lists
from ops.figures.files import save_figures
from ops.storage.tables import read_table
from ops.topk.neurons import NEURONS_PER_PART
from ops.topk.silent import read_silent

TABLE, NEAREST = "compare/neighbours", whole_table("compare/nearest")
DRAWN = 64  # neurons per layer whose nearest neurons are compared with the controls
SHARED_PRODUCTS = 60  # a winner that two neurons share takes as long as this many products (measured)
ROWS_EACH = 3  # rows of a neuron for each neighbour of a kind that is listed, for --dry-run


def neighbours(config: CompareConfig, run: Run) -> None:
    """Write compare/neighbours, compare/nearest and their figure, or the missing part of them."""
    config = config.model_copy(update={"units": chosen_units(config, run, "compared")})
    depends_on = {"nearest": config.nearest, **({"units": list(config.units)} if config.units else {})}
    stage = begin_part("neighbours", config, run, depends_on)
    if stage is not None:
        scored = Scored.of(run)
        chosen = len(config.units) or len(scored.neurons)
        stage.complete(neighbour_steps(config, stage, scored, chosen), {TABLE: ROWS_EACH * chosen * config.nearest})


def neighbour_steps(config: CompareConfig, stage: Stage, scored: Scored, chosen: int) -> Steps:
    """Find the neighbours, compare the nearest ones with the controls, draw the figure, and return the counts."""
    neurons, k, sentences = len(scored.neurons), scored.k, scored.sentences
    args = StageArgs(store=stage.store, neurons=scored.neurons, seed=config.seed)
    given = {"args": args, "nearest": config.nearest, "units": config.units}
    ranges = table_ranges(chosen)
    memory = finder_bytes(neurons, scored.sampled, k, scored.poles, sentences, min(chosen, NEURONS_PER_PART))
    shared = chosen * neurons * (scored.poles * k) ** 2 / max(sentences, 1) / 2
    products = chosen * neurons * scored.sampled + SHARED_PRODUCTS * shared
    yield [
        Step(
            name="compare: neighbours", items=ranges, outputs=lambda item: [range_part(TABLE, item)],
            worker=NeighbourWorker, args=given, unit="ranges of neurons", memory=memory, amount=products,
        ),
        Step(
            name="compare: nearest", items=[{"scored": sentences, "rotated": not scored.of_features}],
            outputs=lambda _: [NEAREST], worker=NearestWorker, args=given, unit="tables", memory=memory,
            amount=products / len(ranges),
        ),
    ]  # fmt: skip
    nearest = read_table(stage.store, NEAREST.table)
    drawn = {"nearest": nearest_figure(nearest)} if nearest.num_rows else {}
    figures = save_figures(stage.store, "compare/figures/neighbours", drawn, stage.run.title)
    return {"rows": stage.store.dataset(TABLE).count_rows(), "neurons": chosen, "figures": figures}


class NeighbourWorker:
    """Finds the neighbours of ranges of neurons; memory holds the activation sample and the winners of all neurons."""

    def __init__(self, args: StageArgs, nearest: int, units: tuple[str, ...]) -> None:
        self.args, self.chosen = args, args.neurons.named(units)
        vectors = neuron_vectors(args.store, args.neurons)
        winners, silent = read_winner_lists(args.store, args.neurons), read_silent(args.store, args.neurons)
        self.finder = NeighbourFinder(args.neurons, vectors, winners, nearest, silent)

    def __call__(self, item: Item) -> Made:
        """Find the neighbours of one range of neurons."""
        with threadpool_limits(1):
            return {range_part(TABLE, item): self.finder.rows(self.chosen[item["first"] : item["stop"]])}


class NearestWorker(NeighbourWorker):
    """Compares the similarity of nearest neurons with chance and, unless they are features, with rotated bases."""

    def __call__(self, item: Item) -> Made:
        """Compare the nearest neurons with the controls."""
        layers = [layer_activations(self.args.store, layer) for layer in self.args.neurons.layers]
        seed = (self.args.seed, sampling.NEIGHBOURS)
        with threadpool_limits(1):
            rows = nearest_rows(self.finder, layers, item["scored"], DRAWN, seed, item["rotated"])
        return {NEAREST: rows}
