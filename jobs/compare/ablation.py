"""The part `ablation` of `compare`: the effect on other neurons of setting a property's top neurons to their mean."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from jobs.compare.compared_run import ModelArgs, model_of, part_args, part_plan, run_part
from jobs.compare.job import CompareConfig
from jobs.engine.item import Item
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.outputs import partial_file, read_partials, write_partial
from jobs.stage.placement import choose_placement, run_scoring
from jobs.stage.run import Run
from jobs.stage.runner import Stage, Step
from ops import sampling
from ops.arrays import Float64s
from ops.compare.ablation import TABLE, Ablator, Effect, ablation_table, choose_neurons, matched_neurons
from ops.compare.ablation_figures import draw_ablation
from ops.compare.activation_vectors import sampled_texts
from ops.compare.scalar_properties import neuron_columns, scalar_properties
from ops.errors import InputError
from ops.finetune.classifier import load_head
from ops.model.tokenizer import Tokenizer
from ops.schema import schema
from ops.shards import spans
from ops.storage.tables import write_part
from ops.topk.silent import read_silent

NEURONS_PER_BLOCK = 4  # neurons in one item
SENTENCE_S, ROW_BYTES, FIGURE_BYTES = 0.011, 60, 200_000  # measured with the packaged model on one core
COLUMNS = tuple(field.name for field in fields(Effect))
block_file = partial(partial_file, TABLE, "block")  # the effects of a block of neurons, each set to its mean


@dataclass(frozen=True)
class AblationArgs(ModelArgs):
    """The arguments of a worker; `sentences` is the number of sentences that are read."""

    sentences: int


def ablation_part(config: CompareConfig, record: Run) -> None:
    """Write compare/ablation and its figure, or the missing part of them."""
    facts, place = model_of(record), choose_placement(config, record, "compare/ablation")
    names = ("ablate", "ablate_most", "ablate_random", "ablate_sentences", "dtype")
    depends_on = {**{name: getattr(config, name) for name in names}, **place.identity}

    def args(config: CompareConfig, stage: Stage) -> AblationArgs:
        scoring = run_scoring(record.require("topk")["identity"], place, config.dtype)
        own = part_args(config, stage)
        return AblationArgs(**vars(own), facts=facts, scoring=scoring, place=place, sentences=config.ablate_sentences)

    run_part("ablation", config, record, depends_on, args, measure, plan)


def choose(config: CompareConfig, args: AblationArgs) -> tuple[dict[str, list[int]], dict[int, list[int]], Float64s]:
    """Return the indices of the neurons to set to their mean, by property, and of random neurons for each of them.

    The third value is the standard deviation of every neuron.
    """
    neurons, with_last = args.neurons, load_head(args.facts) is not None
    properties = scalar_properties(args.store, neurons)
    chosen = choose_neurons(properties, neurons, config.ablate, config.ablate_most, with_last)
    if not chosen:
        raise InputError(
            f"--ablate: {args.facts.name} has one layer and no classifier, so a neuron has nothing to act on; "
            "leave the option out"
        )
    std = properties["neurons:std"]
    return chosen, matched_neurons(neurons, std, distinct(chosen.values()), config.ablate_random, config.seed), std


def distinct(lists: Iterable[Sequence[int]]) -> list[int]:
    """Return the distinct neurons of some lists, ascending."""
    return sorted({neuron for own in lists for neuron in own})


def measure(config: CompareConfig, stage: Stage, args: AblationArgs) -> dict[str, Any]:
    """Set the neurons to their mean, write the table and its figure, and return the counts."""
    chosen, matched, std = choose(config, args)
    wanted = distinct((*chosen.values(), *matched.values()))
    step = ablation_step(args, wanted)
    stage.do(step)
    effects = {
        row.pop("neuron"): Effect(**row)
        for table in read_partials(args.store, [block_file(item["block"]) for item in step.items])
        for row in table.to_pylist()
    }
    sentences = len(drawn_texts(args))
    table = ablation_table(chosen, matched, effects, args.neurons, std, sentences)
    write_part(stage.store, TABLE, 0, schema(TABLE), [table], stage.fingerprint)
    layers, units = (of.tolist() for of in args.neurons.layer_and_unit(np.array(wanted, np.int64)))
    place = dict(zip(wanted, zip(layers, units, strict=True), strict=True))
    null = {place[neuron]: {place[i]: effects[i] for i in drawn} for neuron, drawn in matched.items()}
    figures = draw_ablation(stage.store, table, null, args.facts.title)
    counts = {"rows": table.num_rows, "neurons": len(matched), "sentences": sentences}
    return {**counts, "forward_passes": sentences * len(wanted), "figures": figures}


def plan(config: CompareConfig, stage: Stage, args: AblationArgs, record: DryRun) -> Plan:
    """Return what the part would do."""
    chosen, matched, _ = choose(config, args)
    wanted = distinct((*chosen.values(), *matched.values()))
    random = len(wanted) - len(matched)
    more = [f"{len(matched):,} neurons of {len(chosen):,} properties and {random:,} random ones"]
    kept = ROW_BYTES * sum(map(len, chosen.values())) + FIGURE_BYTES
    return part_plan(
        stage, record, [(ablation_step(args, wanted), NEURONS_PER_BLOCK * args.sentences * SENTENCE_S)], kept, more
    )


def ablation_step(args: AblationArgs, wanted: list[int]) -> Step:
    """Return the step that sets the neurons with these indices to their mean, one at a time."""
    items = [{"block": i, "neurons": wanted[a:b]} for i, (a, b) in enumerate(spans(len(wanted), NEURONS_PER_BLOCK))]
    return Step(
        "compare: ablation", items, lambda item: [block_file(item["block"])], AblationWorker, {"args": args}, "blocks",
        holds=args.place.holds, workers=args.place.workers, actors=True,
    )  # fmt: skip


def drawn_texts(args: AblationArgs) -> list[str]:
    """Return the sampled sentences on which effects are measured."""
    return sampled_texts(args.store, args.sentences, args.seed, sampling.ABLATED_SENTENCES)


class AblationWorker:
    """Sets the neurons of blocks to their mean, one at a time."""

    def __init__(self, args: AblationArgs) -> None:
        self.args = args
        of = dict(neuron_columns(args.store, "neurons", ("mean", "std"), args.neurons))
        texts = drawn_texts(args)
        n_tokens = np.array([len(tokens.ids) for tokens in Tokenizer(args.facts).encode(texts)])
        std = np.where(read_silent(args.store, args.neurons), np.nan, of["std"])
        self.ablator = Ablator(
            args.facts, args.scoring, args.neurons, of["mean"], std, texts, n_tokens, args.place.token_budget
        )

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Measure one block and commit the effects of its neurons."""
        effects = [self.ablator.effect(neuron) for neuron in item["neurons"]]
        columns: dict[str, Any] = {"neuron": item["neurons"]}
        columns |= {name: [getattr(effect, name) for effect in effects] for name in COLUMNS}
        write_partial(self.args.store, block_file(item["block"]), pa.table(columns), self.args.fingerprint)
        return {"block": item["block"]}
