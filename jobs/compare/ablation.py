"""The part `ablation` of `compare`: the effect on other neurons of setting a property's top neurons to their mean."""

from dataclasses import asdict
from itertools import chain

import numpy as np
import pyarrow as pa

from jobs.compare.job import CompareConfig
from jobs.compare.parts import ModelArgs, begin_part
from jobs.engine.item import Item
from jobs.run_folder.run import Run
from jobs.stage.checks import model_of_topk
from jobs.stage.outputs import file_of, read_partials
from jobs.stage.placement import choose_placement, run_scoring
from jobs.stage.runner import Stage
from jobs.stage.scored import Scored
from jobs.stage.step import Steps
from ops import sampling
from ops.compare.ablation import TABLE, Ablator, Chosen, Effect, ablation_table, choose_neurons, matched_neurons
from ops.compare.activation_vectors import sampled_texts
from ops.compare.figures import ablation_figures
from ops.compare.scalar_properties import neuron_columns, scalar_properties
from ops.errors import InputError
from ops.figures.files import save_figures
from ops.finetune.classifier import load_head
from ops.shards import spans
from ops.topk.silent import read_silent

NEURONS_PER_BLOCK = 4  # neurons in one item


def ablation(config: CompareConfig, run: Run) -> None:
    """Write compare/ablation and its figure, or the missing part of them."""
    facts, placement = model_of_topk(run), choose_placement(config, run, TABLE)
    names = ("ablate", "ablate_most", "ablate_random", "ablate_sentences", "dtype")
    depends_on = {**{name: getattr(config, name) for name in names}, **placement.identity}
    stage = begin_part("ablation", config, run, depends_on)
    if stage is None:
        return
    scored = Scored.of(run)
    scoring = run_scoring(scored.identity, placement, config.dtype)
    args = ModelArgs.of(config, stage, facts, scoring, placement)
    chosen = choose(config, args)
    random = len(chosen.neurons) - len(chosen.random)
    note = f"{len(chosen.random):,} neurons of {len(chosen.properties):,} properties and {random:,} random ones"
    rows = {TABLE: sum(map(len, chosen.properties.values()))}
    sentences = min(config.ablate_sentences, scored.sampled)
    stage.complete(ablation_steps(args, stage, chosen, sentences), rows, notes=[note])


def choose(config: CompareConfig, args: ModelArgs) -> Chosen:
    """Return the neurons to set to their mean.

    Raises:
        InputError: no neuron has a neuron or a classifier after it.
    """
    neurons, with_last = args.neurons, load_head(args.facts) is not None
    properties = scalar_properties(args.store, neurons)
    strongest = choose_neurons(properties, neurons, config.ablate, config.ablate_most, with_last)
    if not strongest:
        raise InputError(
            f"--ablate: {args.facts.name} has one layer and no classifier, so a neuron has nothing to act on; "
            "leave the option out"
        )
    std = properties["neurons:std"]
    random = matched_neurons(neurons, std, chain(*strongest.values()), config.ablate_random, config.seed)
    return Chosen(strongest, random, std)


def ablation_steps(args: ModelArgs, stage: Stage, chosen: Chosen, sentences: int) -> Steps:
    """Set the neurons to their mean, write the table and its figure, and return the counts."""
    neurons, store = chosen.neurons, stage.store
    blocks: list[Item] = [
        {"block": i, "neurons": neurons[first:stop]}
        for i, (first, stop) in enumerate(spans(len(neurons), NEURONS_PER_BLOCK))
    ]
    step = args.model_step(
        TABLE, len(neurons) * sentences, name="compare: ablation", items=blocks, worker=AblationWorker,
        args={"args": args, "sentences": sentences}, outputs=file_of(TABLE, "block"), unit="blocks of neurons",
    )  # fmt: skip
    yield [step]
    effects = {
        row.pop("neuron"): Effect(**row) for table in read_partials(store, step.files) for row in table.to_pylist()
    }
    table = ablation_table(chosen, effects, args.neurons, sentences)
    stage.write(TABLE, table)
    layers, units = (numbers.tolist() for numbers in args.neurons.layer_and_unit(np.arange(len(args.neurons))))
    names = list(zip(layers, units, strict=True))
    null = {names[neuron]: {names[i]: effects[i] for i in drawn} for neuron, drawn in chosen.random.items()}
    figures = save_figures(store, "compare/figures/ablation", ablation_figures(table, null), args.facts.title)
    counts = {"rows": table.num_rows, "neurons": len(chosen.random), "sentences": sentences}
    return {**counts, "forward_passes": sentences * len(neurons), "figures": figures}


class AblationWorker:
    """Sets the neurons of blocks to their mean, one at a time."""

    def __init__(self, args: ModelArgs, sentences: int) -> None:
        store, neurons, budget = args.store, args.neurons, args.placement.token_budget
        columns = neuron_columns(store, "neurons", ("mean", "std"), neurons)
        std = np.where(read_silent(store, neurons), np.nan, columns["std"])
        texts = sampled_texts(store, sentences, args.seed, sampling.ABLATED_SENTENCES)
        self.ablator = Ablator(args.facts, args.scoring, neurons, columns["mean"], std, texts, budget)

    def __call__(self, item: Item) -> pa.Table:
        """Measure the effects of the neurons of one block."""
        effects = [{"neuron": neuron, **asdict(self.ablator.effect(neuron))} for neuron in item["neurons"]]
        return pa.Table.from_pylist(effects)
