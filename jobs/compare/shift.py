"""The part `shift` of `compare`: the distance between two models' vectors of the same sentences."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from jobs.compare.job import CompareConfig
from jobs.compare.parts import ModelArgs, begin_part
from jobs.engine.item import Item
from jobs.run_folder.run import Run, RunReader
from jobs.run_folder.run_json import RECORD
from jobs.stage.checks import model_of_topk
from jobs.stage.corpus_pass import describe
from jobs.stage.other_run import RunPair
from jobs.stage.outputs import Noted, Output, file_of, partial_file, read_notes, read_partial, read_partials
from jobs.stage.placement import choose_placement, run_scoring
from jobs.stage.runner import Stage
from jobs.stage.scored import Scored
from jobs.stage.step import Step, Steps
from ops import schema
from ops.arrays import Arrays, Float64s
from ops.compare.activation_vectors import common_rows
from ops.compare.figures import shift_figure
from ops.compare.model_shift import TwoModels, compare_runs, shift_rows, with_whole
from ops.compare.text_set import parse_text_sets, read_text_set, said_left_out
from ops.errors import InputError
from ops.figures.files import save_figures
from ops.model.activations import site_widths
from ops.model.load import ModelFacts, read_facts
from ops.model.names import FINE_TUNED
from ops.model.tokenizer import Tokenizer
from ops.shards import spans
from ops.sources.pieces import source_fingerprint
from ops.sources.source import Source
from ops.storage.arrays import read_arrays, write_arrays
from ops.storage.store import Store

PART, LAYERS, NEURONS = "compare/shift", "compare/shift_layers", "compare/shift_neurons"
FLAG = "--against"
SAMPLE = "activation_sample"  # the text set that two runs of one corpus share
SENTENCES_PER_BLOCK = 500  # sentences in one item
_SAME_OF_TOPK = ("site", "pool", "special_tokens")
RUNS = partial_file(PART, "runs")  # what a block gives, over the sample that two runs share, and how alike they win


@dataclass(frozen=True)
class Compared:
    """Two models, and the text sets on which they are compared.

    Attributes:
        pair: the run and the run that `--against` names; None if it names a model.
    """

    text_sets: dict[str, Source]
    pair: RunPair | None
    facts: ModelFacts
    against: ModelFacts

    @property
    def other(self) -> RunReader | None:
        """The other run, if its winners and its sample can be compared with the run's; else None."""
        return self.pair.other if self.pair is not None and self.pair.same_ids else None


def check_shift(config: CompareConfig, run: Run) -> Compared:
    """Return what is compared.

    Raises:
        InputError: a text set or the other model is missing or unsuitable, or there are no sentences to compare on.
    """
    text_sets = parse_text_sets(config.text_set, config.text_column)
    pair, against = other_model(config, run)
    facts = model_of_topk(run)
    scored = Scored.of(run)
    here, there = scored.neurons.widths, site_widths(against, scored.site)
    if there != here:
        raise InputError(
            f"{FLAG} {config.against}: has {len(there)} layers of {max(there)} units, {facts.name} {len(here)} of "
            f"{max(here)}; neurons are compared one by one, so give a model of the same sizes"
        )
    compared = Compared(text_sets, pair, facts, against)
    if not text_sets and (compared.other is None or not len(common_rows(run.store, compared.other.store)[0])):
        raise InputError(f"{FLAG} {config.against}: give sentences for both models to read with --text-set NAME=SOURCE")
    return compared


def other_model(config: CompareConfig, run: Run) -> tuple[RunPair | None, ModelFacts]:
    """Return the run that `--against` names and its model, or (None) the fine-tuned model of a run, or the named model.

    Raises:
        InputError: the model is missing, or activations of that run cannot be compared with this run's.
    """
    model = config.against
    if is_run(config.against):
        other = RunPair.open(FLAG, config.against, run, ()).other
        of_topk = other.complete("topk") or not other.complete("finetune")
        pair = RunPair.open(FLAG, config.against, run, ("topk",) if of_topk else ("finetune",))
        if of_topk:
            pair.check_same_options("topk", _SAME_OF_TOPK.__contains__)
            return pair, model_of_topk(other)
        if not other.store.local:
            raise pair.refused("models are read from local folders; copy finetune/model here")
        model = other.store.path("/".join(FINE_TUNED))
    try:
        return None, read_facts(model, config.model_seed)
    except InputError as error:
        raise InputError(str(error).replace("--model", FLAG, 1)) from error


def is_run(name: str) -> bool:
    """Tell whether a name is the directory of a run; otherwise it names a model."""
    try:
        return Store(name).is_file(RECORD)
    except (InputError, OSError, ValueError):
        return False


def shift(config: CompareConfig, run: Run, compared: Compared) -> None:
    """Write compare/shift, compare/shift_layers, compare/shift_neurons and their figure, or the missing part."""
    placement = choose_placement(config, run, PART)
    depends_on: dict[str, Any] = {
        "against": compared.against.fingerprint,
        "text_set": [f"{name}:{s.kind}:{source_fingerprint(s)}" for name, s in compared.text_sets.items()],
        "text_column": config.text_column, "split": config.split, "text_limit": config.text_limit,
        "dtype": config.dtype, **placement.identity,
    }  # fmt: skip
    if compared.pair is not None:
        depends_on["against_run"] = compared.pair.other.require("topk")["fingerprint"]
    stage = begin_part("shift", config, run, depends_on, {"against": describe(compared.against)})
    if stage is None:
        return
    scored = Scored.of(run)
    scoring = run_scoring(scored.identity, placement, config.dtype)
    args = ModelArgs.of(config, stage, compared.facts, scoring, placement)
    units = len(scored.neurons)
    notes = [f"then have both models read at most {config.text_limit * len(compared.text_sets):,} sentences"]
    if compared.other is not None:
        notes.append(f"then compare the winners of {units:,} neurons with those of the other run")
    stage.complete(shift_steps(config, args, stage, compared), {NEURONS: units}, notes=notes)


def shift_steps(config: CompareConfig, args: ModelArgs, stage: Stage, compared: Compared) -> Steps:
    """Run both models on the text sets, compare two runs if given, write the tables, and return the counts."""
    names, store, neurons = list(compared.text_sets), stage.store, args.neurons
    sets: list[Item] = [{"number": i, "source": source.spec} for i, source in enumerate(compared.text_sets.values())]
    texts = Step(
        name="compare: text sets", items=sets, outputs=file_of(PART, "text_set", "number"), worker=draw_sentences,
        unit="text sets",
        args={
            "facts": args.facts, "text_column": config.text_column, "splits": config.split == "sentences",
            "most": config.text_limit, "seed": config.seed,
        },
    )  # fmt: skip
    yield [texts]
    read = dict(zip(names, read_notes(store, texts.files), strict=True))
    for note in filter(None, (said_left_out(f"--text-set {name}", counts) for name, counts in read.items())):
        stage.say(note)
    sizes = [counts["kept"] for counts in read.values()]
    if 0 in sizes:
        raise InputError(f"--text-set {config.text_set[sizes.index(0)]}: gives no usable sentence; name another source")
    blocks = args.model_step(
        PART, sum(sizes), name="compare: shift", items=blocks_of(sizes), worker=Distancer,
        args={"args": args, "against": compared.against, "texts": texts.files}, outputs=file_of(PART, "block"),
        unit="blocks of sentences", work=("sentences", sum(sizes)),
    )  # fmt: skip
    yield [blocks]
    rows, moved = merge(args, names, texts.files, blocks)
    of_runs: dict[str, Arrays] = {}
    if compared.other is not None:
        scored, of_other = Scored.of(stage.run), Scored.of(compared.other)
        yield [
            Step(
                name="compare: two runs", items=[{}], outputs=lambda _: [RUNS], worker=compare_samples,
                args={
                    "store": store, "other": compared.other.store, "shards": stage.run.shards(), "neurons": neurons,
                    "k": min(scored.k, of_other.k), "poles": scored.common_poles(of_other),
                },
                unit="pairs of runs",
            )
        ]  # fmt: skip
        of_runs = read_arrays(read_partial(store, RUNS))
        if not names:
            rows = shift_rows(SAMPLE, with_whole(*of_runs["distances"]), of_runs["documents"])
            moved = of_runs["shift"]
    layer, unit = neurons.layer_and_unit(np.arange(len(neurons)))
    columns = {name: of_runs.get(name, np.full(len(neurons), np.nan)) for name in ("jaccard", "rank_correlation")}
    stage.write(NEURONS, schema.table(NEURONS, {"layer": layer, "unit": unit, "shift": moved, **columns}))
    whole = stage.write(PART, schema.table(PART, [row for row in rows if not row["layer"]]))
    by_layer = schema.table(LAYERS, rows)
    stage.write(LAYERS, by_layer)
    shift = shift_figure(by_layer, args.facts.title, compared.against.title)
    figures = save_figures(store, "compare/figures/shift", {"shift": shift})
    return {
        "rows": whole, "sentences": sum(sizes), "text_sets": read, "neurons": len(neurons), "figures": figures
    }  # fmt: skip


def blocks_of(sizes: list[int]) -> list[Item]:
    """Return the blocks of sentences as items, for text sets of these sizes."""
    blocks = [(number, *span) for number, size in enumerate(sizes) for span in spans(size, SENTENCES_PER_BLOCK)]
    return [
        {"block": i, "text_set": number, "first": first, "sentences": stop - first}
        for i, (number, first, stop) in enumerate(blocks)
    ]


def draw_sentences(item: Item, facts: ModelFacts, **options: Any) -> Noted:
    """Draw a sample of the distinct sentences of one source, with these options of `read_text_set`."""
    return Noted(*read_text_set(item["source"], tokenizer=Tokenizer(facts), **options))


class Distancer:
    """Runs both models on blocks of the sentences in the files of the text sets and measures the distances."""

    def __init__(self, args: ModelArgs, against: ModelFacts, texts: list[Output]) -> None:
        self.store, self.texts = args.store, texts
        self.models = TwoModels((args.facts, against), args.scoring, args.placement.token_budget, args.neurons)

    def __call__(self, item: Item) -> pa.Table:
        """Measure the neurons' shifts and the sentences' distances in one block of sentences."""
        texts = read_partial(self.store, self.texts[item["text_set"]]).slice(item["first"], item["sentences"])
        moved, distances = self.models.distances(texts["text"].to_pylist(), texts["n_tokens"].to_numpy())
        return write_arrays(shift=moved, distances=distances)


def compare_samples(item: Item, **runs: Any) -> pa.Table:
    """Compare two runs, given as `compare_runs` takes them."""
    return write_arrays(**compare_runs(**runs))


def merge(
    args: ModelArgs, names: list[str], texts: list[Output], blocks: Step
) -> tuple[list[dict[str, object]], Float64s]:
    """Return the rows of compare/shift_layers and each neuron's mean shift, merged from all blocks in their order."""
    rows: list[dict[str, object]] = []
    total, count = np.zeros(len(args.neurons)), 0
    for number, name in enumerate(names):
        files = [file for item, file in zip(blocks.items, blocks.files, strict=True) if item["text_set"] == number]
        parts = [read_arrays(table) for table in read_partials(args.store, files)]
        total = sum((part["shift"] for part in parts), total)
        distances = with_whole(*np.concatenate([part["distances"] for part in parts], 1))
        is_finite = np.isfinite(distances).all((1, 2))
        if not is_finite.any():
            raise InputError(f"--text-set {name}: no sentence of it has finite activations in both models")
        count += int(is_finite.sum())
        doc_ids = read_partial(args.store, texts[number])["doc_id"].to_pylist()
        _, documents = np.unique(np.array(doc_ids, object), return_inverse=True)
        rows += shift_rows(name, distances[is_finite], documents[is_finite])
    return rows, total / max(count, 1)
