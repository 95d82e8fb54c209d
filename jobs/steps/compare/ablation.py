"""The part `ablation` of `compare`: what the neurons with most of each property do to others, set to their mean."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from jobs.engine.item import Item
from jobs.stage.compare_config import CompareConfig
from jobs.stage.compare_files import ablation_file
from jobs.stage.files import write_partial
from jobs.stage.placement import choose_placement
from jobs.stage.run import Run
from jobs.stage.runner import Step
from jobs.steps.compare.compared_run import PartWork, begin_part, model_of, neurons_of
from ops import sampling
from ops.compare.ablation import TABLE, Ablator, Effect, ablation_table, choose_neurons, random_neurons
from ops.compare.ablation_figures import draw_ablation
from ops.compare.activation_vectors import sampled_sentences
from ops.compare.scalar_properties import scalar_properties
from ops.errors import InputError
from ops.finetune.classifier import load_head
from ops.model.activations import ScoreOptions
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.schema import schema
from ops.shards import spans
from ops.storage.store import Store
from ops.storage.tables import read_parts, read_table, write_part
from ops.topk.neurons import Neurons

BLOCK = 4  # neurons that an item has
SENTENCE_S, ROW_BYTES, FIGURE_BYTES = 0.011, 60, 200_000  # measured with the packaged model on one core
COLUMNS = ("moved", "most", "most_moved", "output")


@dataclass(frozen=True)
class AblationArgs:
    """What a worker is made from; `sentences` is how many are read."""

    store: Store
    fingerprint: str
    facts: ModelFacts
    scoring: ScoreOptions
    token_budget: int
    neurons: Neurons
    sentences: int
    seed: int


def ablation_part(config: CompareConfig, record: Run) -> PartWork | None:
    """Begin compare/ablation; None where it was done before.

    Raises:
        InputError: the run's neurons are not of the site `hidden`.
    """
    facts, place, topk = model_of(record), choose_placement(config), record.require("topk")["identity"]
    if topk["site"] != "hidden":
        raise InputError(f"--ablate: the run is of --site {topk['site']}; only neurons of hidden are set to their mean")
    names = ("ablate", "ablate_most", "ablate_random", "ablate_sentences", "dtype")
    identity = {**{name: getattr(config, name) for name in names}, **place.identity}
    stage = begin_part("ablation", config, record, identity)
    if stage is None:
        return None
    neurons = neurons_of(record)
    options = ScoreOptions(
        "hidden", topk["pool"], topk["special_tokens"], place.device, config.dtype, place.threads or 1
    )
    args = AblationArgs(
        stage.store,
        stage.fingerprint,
        facts,
        options,
        place.token_budget,
        neurons,
        config.ablate_sentences,
        config.seed,
    )
    properties = scalar_properties(stage.store, neurons)
    chosen = choose_neurons(properties, neurons, config.ablate, config.ablate_most, load_head(facts) is not None)
    numbers = np.array(sorted({n for own in chosen.values() for n in own}))
    layers = neurons.layer_and_unit(numbers)[0].tolist()
    drawn = random_neurons(neurons, layers, config.ablate_random, config.seed)
    wanted = sorted({*numbers.tolist(), *(n for own in drawn.values() for n in own)})
    step = ablation_step(args, wanted, place.holds, place.workers)

    def do() -> None:
        stage.do(step)
        effects = read_effects(args, step)
        sentences = len(drawn_texts(args)[0])
        table = ablation_table(chosen, drawn, effects, neurons, sentences)
        write_part(stage.store, TABLE, 0, schema(TABLE), [table], stage.fingerprint)
        random = [number for own in drawn.values() for number in own]
        places = zip(*(of.tolist() for of in neurons.layer_and_unit(np.array(random, np.int64))), strict=True)
        null = {place: effects[number] for place, number in zip(places, random, strict=True)}
        figures = draw_ablation(stage.store, table, null, facts.title)
        counts = {"rows": table.num_rows, "neurons": len(numbers), "sentences": sentences}
        stage.finish({**counts, "forward_passes": sentences * len(wanted), "figures": figures})

    each = BLOCK * config.ablate_sentences * SENTENCE_S
    more = [f"{len(numbers):,} neurons of {len(chosen):,} properties and {len(wanted) - len(numbers):,} random ones"]
    kept = ROW_BYTES * sum(map(len, chosen.values())) + FIGURE_BYTES
    return PartWork(stage, do, [(step, each)], kept, more)


def ablation_step(args: AblationArgs, wanted: list[int], holds: dict[str, Any], workers: int | None) -> Step:
    """Return the step that sets these neurons, by number, to their mean, one after another."""
    items = [{"block": i, "neurons": wanted[a:b]} for i, (a, b) in enumerate(spans(len(wanted), BLOCK))]
    given = {"args": args}
    return Step(
        "compare: ablation", items, lambda item: [ablation_file(item["block"])], AblationWorker, given, "blocks",
        holds=holds, workers=workers, actors=True,
    )  # fmt: skip


def drawn_texts(args: AblationArgs) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Return a seeded uniform sample of the activation sample's sentences."""
    ids = sampled_sentences(args.store)
    chosen = ids[sampling.draw(len(ids), args.sentences, args.seed, sampling.ABLATED_SENTENCES)]
    table = read_table(args.store, "sentences", pc.field("sent_id").isin(pa.array(chosen)), ["sent_id", "text"])
    return table["text"].to_pylist(), table["sent_id"].to_numpy()


class AblationWorker:
    """Sets the neurons of one block after another to their mean."""

    def __init__(self, args: AblationArgs) -> None:
        self.args = args
        mean, std = (np.zeros(len(args.neurons)) for _ in range(2))
        for table in read_parts(args.store, "neurons", ["layer", "unit", "mean", "std"]):
            number = args.neurons.number(table["layer"].to_numpy(), table["unit"].to_numpy())
            mean[number], std[number] = table["mean"].to_numpy(), table["std"].to_numpy()
        texts, _ = drawn_texts(args)
        n_tokens = np.array([len(tokens.ids) for tokens in Tokenizer(args.facts).encode(texts)])
        self.ablator = Ablator(args.facts, args.scoring, args.neurons, mean, std, texts, n_tokens, args.token_budget)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Measure one block and commit what its neurons do."""
        effects = [self.ablator.effect(neuron) for neuron in item["neurons"]]
        columns: dict[str, Any] = {"neuron": item["neurons"]}
        columns |= {name: [getattr(effect, name) for effect in effects] for name in COLUMNS}
        write_partial(self.args.store, ablation_file(item["block"]), pa.table(columns), self.args.fingerprint)
        return {"block": item["block"]}


def read_effects(args: AblationArgs, step: Step) -> dict[int, Effect]:
    """Return what every neuron of the step does, by number."""
    found = {}
    for item in step.items:
        with args.store.parquet(ablation_file(item["block"]).path) as file:
            for row in file.read().to_pylist():
                found[row["neuron"]] = Effect(**{name: row[name] for name in COLUMNS})
    return found
