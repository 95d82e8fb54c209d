"""The part `shift` of `compare`: the distance between two models' vectors of the same sentences."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from jobs.compare.compared_run import ModelArgs, model_of, neurons_of, part_args, part_plan, run_part
from jobs.compare.job import CompareConfig
from jobs.engine.item import Item
from jobs.stage.corpus_pass import describe
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.files import Output, partial_file, read_partial, read_partials, write_partial
from jobs.stage.placement import choose_placement, run_scoring
from jobs.stage.run import Run
from jobs.stage.runner import Stage, Step
from ops import sampling, schema
from ops.arrays import Float64s
from ops.compare.model_shift import shift_rows, shift_tables, with_whole
from ops.compare.sentence_distances import TwoModels, common_sentences, compare_runs
from ops.compare.shift_figures import draw_shift
from ops.compare.text_set import parse_text_sets, read_text_set
from ops.errors import InputError
from ops.model.load import ModelFacts, read_facts
from ops.model.names import FINE_TUNED
from ops.model.tokenizer import Tokenizer
from ops.shards import spans
from ops.sources.pieces import source_fingerprint
from ops.sources.source_format import Source
from ops.storage.arrays import read_arrays, write_arrays
from ops.storage.store import Store
from ops.storage.tables import write_part
from ops.topk.neurons import Neurons

PART = "compare/shift"
# Measured with the packaged model on one core: the seconds per text set and per sentence; the bytes written.
SET_S, SENTENCE_S, NEURON_BYTES, FIGURE_BYTES = 2.0, 0.011, 20, 200_000
SAMPLE = "activation_sample"  # the text set that two runs of one corpus share
SENTENCES_PER_BLOCK = 500  # sentences in one item
text_set_file = partial(partial_file, PART, "text_set")  # the file of the sentences of a text set
RUNS = [partial_file(PART, f"runs-{kind}") for kind in ("distances", "neurons")]


@dataclass(frozen=True)
class Compared:
    """The other model of a comparison, and the text sets on which models are compared.

    Attributes:
        names, sources: the names and sources of the text sets.
        run: the run that `--against` names; None if it names a model.
        same_corpus: whether that run has the same corpus as this run.
        against: the other model.
    """

    names: list[str]
    sources: list[Source]
    run: Run | None
    same_corpus: bool
    against: ModelFacts


def check_shift(config: CompareConfig, record: Run) -> Compared:
    """Return what is compared.

    Raises:
        InputError: a text set or the other model is missing or unsuitable, or there are no sentences to compare on.
    """
    names, sources = parse_text_sets(config.text_set, config.text_column)
    other = other_run(config.against)
    name = fine_tuned_model(other) if other is not None else None
    other = other if name is None else None
    against = check_other(config, record, other, name or config.against, neurons_of(record), model_of(record))
    same_corpus = other is not None and other.record.get("corpus") == record.record.get("corpus")
    if not names and not (other is not None and same_corpus and common_sentences(record.store, other.store)):
        raise InputError(
            f"--against {config.against}: give sentences for both models to read with --text-set NAME=SOURCE"
        )
    return Compared(names, sources, other, same_corpus, against)


def other_run(against: str) -> Run | None:
    """Return the run that `--against` names; None if it names a model."""
    try:
        found = Store(against).is_file("run.json")
    except (InputError, OSError, ValueError):
        found = False
    return Run(against, create=False) if found else None


def fine_tuned_model(other: Run) -> str | None:
    """Return the folder of a run's fine-tuned model, if the run has no finished `topk`; otherwise None.

    Raises:
        InputError: the run is on another machine.
    """
    if other.complete("topk") or not other.complete("finetune"):
        return None
    if not other.store.local:
        raise InputError(f"--against {other.store.uri}: models are read from local folders; copy finetune/model here")
    other.check_files("finetune")
    return other.store.path("/".join(FINE_TUNED))


def check_other(
    config: CompareConfig, record: Run, other: Run | None, model: str, neurons: Neurons, facts: ModelFacts
) -> ModelFacts:
    """Return the facts of the other model, which is the model of a run or the named model.

    Raises:
        InputError: its neurons do not correspond to this run's neurons, because of their number or how they were
            pooled.
    """
    if other is None:
        try:
            against = read_facts(model, config.model_seed)
        except InputError as error:
            raise InputError(str(error).replace("--model", "--against", 1)) from error
    else:
        own, others = (run.require("topk")["identity"] for run in (record, other))
        other.check_files("topk")
        for name in ("site", "pool", "special_tokens"):
            if own[name] != others[name]:
                raise InputError(
                    f"--against {config.against}: was run with {name} {others[name]}, this run with {own[name]}; "
                    "compare runs with the same"
                )
        against = model_of(other)
    if (against.layers, against.width) != (facts.layers, facts.width) or (
        other is not None and neurons_of(other).widths != neurons.widths
    ):
        raise InputError(
            f"--against {config.against}: has {against.layers} layers of {against.width} units, {facts.name} "
            f"{facts.layers} of {facts.width}; neurons are compared one by one, so give a model of the same sizes"
        )
    return against


@dataclass(frozen=True)
class ShiftArgs(ModelArgs):
    """The arguments of the workers: the other model, and how text sets are read."""

    against: ModelFacts
    text_column: str
    splits: bool
    most: int


def shift_part(config: CompareConfig, record: Run, compared: Compared) -> None:
    """Write compare/shift, compare/shift_layers, compare/shift_neurons and their figure, or the missing part."""
    facts, place = model_of(record), choose_placement(config, record, PART)
    sets = zip(compared.names, compared.sources, strict=True)
    depends_on: dict[str, Any] = {
        "against": compared.against.fingerprint,
        "text_set": [f"{name}:{source.kind}:{source_fingerprint(source)}" for name, source in sets],
        "text_column": config.text_column, "split": config.split, "text_limit": config.text_limit,
        "resamples": config.resamples, "dtype": config.dtype, **place.identity,
    }  # fmt: skip
    if compared.run is not None:
        depends_on["against_run"] = compared.run.require("topk")["fingerprint"]

    def args(config: CompareConfig, stage: Stage) -> ShiftArgs:
        scoring = run_scoring(record.require("topk")["identity"], place, config.dtype)
        return ShiftArgs(
            **vars(part_args(config, stage)), facts=facts, scoring=scoring, place=place, against=compared.against,
            text_column=config.text_column, splits=config.split == "sentences", most=config.text_limit,
        )  # fmt: skip

    do, say, about = partial(measure, compared), partial(plan, compared), {"against": describe(compared.against)}
    run_part("shift", config, record, depends_on, args, do, say, about)


def measure(compared: Compared, config: CompareConfig, stage: Stage, args: ShiftArgs) -> dict[str, Any]:
    """Run both models on the text sets, compare two runs if given, write the tables, and return the counts."""
    names, neurons, store = compared.names, args.neurons, stage.store
    stage.do(read_step(args, names, compared.sources))
    sizes = [table.num_rows for table in read_partials(store, [text_set_file(i) for i in range(len(names))], [])]
    if 0 in sizes:
        raise InputError(f"--text-set {config.text_set[sizes.index(0)]}: gives no usable sentence; name another source")
    blocks = blocks_of(sizes)
    stage.do(distances_step(args, blocks))
    rows, shift = merge(args, names, blocks, config.resamples)
    alike = pa.table({"jaccard": pa.nulls(len(neurons)), "rank_correlation": pa.nulls(len(neurons))})
    if compared.same_corpus and compared.run is not None:
        stage.do(runs_step(args, compared.run.store))
        distances, alike = read_partials(store, RUNS)
        if not names:
            rng = np.random.default_rng([config.seed, sampling.BOOTSTRAP])
            rows = shift_rows(SAMPLE, with_whole(*read_arrays(distances)["distances"]), config.resamples, rng)
            shift = alike["shift"].to_numpy()
    number, unit = neurons.layer_and_unit(np.arange(len(neurons)))
    columns = {"layer": number, "unit": unit, "shift": shift}
    found = pa.table({**columns, **{name: alike[name] for name in ("jaccard", "rank_correlation")}})
    tables = {**shift_tables(rows), "compare/shift_neurons": schema.table("compare/shift_neurons", found)}
    for name, table in tables.items():
        write_part(store, name, 0, table.schema, [table], stage.fingerprint)
    figures = draw_shift(store, tables, args.facts.title, args.against.title)
    counts = {"rows": tables["compare/shift"].num_rows, "sentences": sum(sizes), "neurons": len(neurons)}
    return {**counts, "figures": figures}


def plan(compared: Compared, config: CompareConfig, stage: Stage, args: ShiftArgs, record: DryRun) -> Plan:
    """Return what the part would do."""
    most, neurons = args.most * len(compared.names), len(args.neurons)
    more = [f"have both models read at most {most:,} sentences"]
    if compared.same_corpus:
        more.append(f"compare the winners of {neurons:,} neurons with those of the other run")
    seconds = 2 * most * SENTENCE_S if args.scoring.device == "cpu" else None
    reading = read_step(args, compared.names, compared.sources)
    return part_plan(stage, record, [(reading, SET_S)], neurons * NEURON_BYTES + FIGURE_BYTES, more, seconds)


def block_files(block: int) -> list[Output]:
    """Return the files of a block of sentences: the shifts of the neurons, and the distances of the sentences."""
    return [partial_file(PART, kind, block) for kind in ("neurons", "distances")]


def blocks_of(sizes: list[int]) -> list[Item]:
    """Return the blocks of sentences as items, for text sets of these sizes."""
    found = [(number, *span) for number, size in enumerate(sizes) for span in spans(size, SENTENCES_PER_BLOCK)]
    return [
        {"block": i, "text_set": number, "first": first, "stop": stop}
        for i, (number, first, stop) in enumerate(found)
    ]  # fmt: skip


def read_step(args: ShiftArgs, names: list[str], sources: list[Source]) -> Step:
    """Return the step that draws the sentences of each text set."""
    items = [{"number": i, "spec": s.spec, "name": n} for i, (n, s) in enumerate(zip(names, sources, strict=True))]
    given = {"args": args}
    return Step(
        "compare: text sets", items, lambda item: [text_set_file(item["number"])], TextSetReader, given, "text sets"
    )


def distances_step(args: ShiftArgs, blocks: list[Item]) -> Step:
    """Return the step in which both models read every block of sentences."""
    sentences = sum(item["stop"] - item["first"] for item in blocks)
    return Step(
        "compare: shift", blocks, lambda item: block_files(item["block"]), Distancer, {"args": args}, "blocks",
        ("sentences", sentences), holds=args.place.holds, workers=args.place.workers, actors=True,
    )  # fmt: skip


def runs_step(args: ShiftArgs, other: Store) -> Step:
    """Return the step that compares the winners and activation samples of two runs."""
    given = {"args": args, "other": other}
    return Step("compare: two runs", [{"all": True}], lambda _: RUNS, RunComparer, given, "pair of runs")


class TextSetReader:
    """Draws the sentences of text sets."""

    def __init__(self, args: ShiftArgs) -> None:
        self.args, self.tokenizer = args, Tokenizer(args.facts)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Read one source and commit a sample of its distinct sentences."""
        args = self.args
        reading = (args.text_column, self.tokenizer, args.splits, args.most, args.seed)
        table, counts = read_text_set(item["spec"], *reading)
        write_partial(args.store, text_set_file(item["number"]), table, args.fingerprint)
        return {"number": item["number"], **{name: n for name, n in counts.items() if name != "sentences"}}


class Distancer:
    """Runs both models on blocks of sentences and measures the distances."""

    def __init__(self, args: ShiftArgs) -> None:
        self.args = args
        self.models = TwoModels((args.facts, args.against), args.scoring, args.place.token_budget, args.neurons)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Measure one block of sentences, and commit the neurons' shifts and the sentences' distances."""
        args = self.args
        texts = read_partial(args.store, text_set_file(item["text_set"]))
        own = texts.slice(item["first"], item["stop"] - item["first"])
        shift, distances = self.models.distances(own["text"].to_pylist(), own["n_tokens"].to_numpy())
        for output, table in zip(
            block_files(item["block"]), (pa.table({"shift": shift}), write_arrays(distances=distances)), strict=True
        ):
            write_partial(args.store, output, table, args.fingerprint)
        return {"sentences": own.num_rows}


class RunComparer:
    """Compares the winners and the activation samples of two runs on the same corpus, neuron by neuron."""

    def __init__(self, args: ShiftArgs, other: Store) -> None:
        self.args, self.other = args, other

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Commit the sample's distances by layer, and each neuron's shift, Jaccard index and rank correlation."""
        args = self.args
        table, distances = compare_runs(args.store, self.other, args.neurons)
        for output, own in zip(RUNS, (write_arrays(distances=distances), table), strict=True):
            write_partial(args.store, output, own, args.fingerprint)
        return {"sentences": distances.shape[1]}


def merge(
    args: ShiftArgs, names: list[str], blocks: list[Item], resamples: int
) -> tuple[list[dict[str, object]], Float64s]:
    """Return the rows of compare/shift_layers and each neuron's mean shift, merged from all blocks in their order."""
    rows: list[dict[str, object]] = []
    total, count = np.zeros(len(args.neurons)), 0
    for number, name in enumerate(names):
        files = [block_files(item["block"]) for item in blocks if item["text_set"] == number]
        for table in read_partials(args.store, [neurons for neurons, _ in files]):
            total += table["shift"].to_numpy()
        parts = read_partials(args.store, [distances for _, distances in files])
        found = np.concatenate([read_arrays(table)["distances"] for table in parts], 1)
        if not found.shape[1]:
            raise InputError(f"--text-set {name}: no sentence of it has finite activations in both models")
        count += found.shape[1]
        rng = np.random.default_rng([args.seed, sampling.BOOTSTRAP, number])
        rows += shift_rows(name, with_whole(found[0], found[1]), resamples, rng)
    return rows, total / max(count, 1)
