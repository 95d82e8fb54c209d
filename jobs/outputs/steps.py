"""The stage `outputs`: the mean state, random directions per layer, ranges of units, and the check."""

from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from jobs.engine.item import Item
from jobs.outputs.job import OutputsConfig
from jobs.run_folder.run import Run
from jobs.stage.checks import model_of_topk
from jobs.stage.corpus_pass import kept_tokens
from jobs.stage.dictionaries import dictionaries_of
from jobs.stage.model_time import model_step
from jobs.stage.outputs import Noted, partial_file, read_notes, read_partial, read_partials, shard_file, whole_table
from jobs.stage.placement import Placement, choose_placement
from jobs.stage.ranges import range_part
from jobs.stage.runner import Stage, begin_stage
from jobs.stage.scored import Scored, StageArgs
from jobs.stage.step import Made, Step, Steps
from jobs.stage.units import chosen_units
from ops import sampling, schema
from ops.arrays import Float64s, Int64s
from ops.compare.scalar_properties import neuron_columns
from ops.corpus.corpus_tokens import CorpusTokens, KeptTokens
from ops.dictionaries.description import Description
from ops.errors import InputError
from ops.figures.files import save_figures
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.outputs.check_effects import LOGITS_AT_ONCE, Checker, drawn_units
from ops.outputs.control_rows import control_rows, said_checked, said_peaked
from ops.outputs.figures import peaked_figures
from ops.outputs.names import MEASURES, SHOWN, SIDES
from ops.outputs.tables import check_row, neuron_rows, token_rows
from ops.outputs.token_effects import random_effects, token_effects
from ops.outputs.token_head import ENTRIES, Entry, LinearHead, TokenHead
from ops.outputs.written import check_written, written_by
from ops.shards import Shards, spans
from ops.storage.arrays import read_arrays, write_arrays
from ops.topk.neurons import NEURONS_PER_PART
from ops.topk.silent import read_heard

UNITS_PER_CHECK = 4  # units in one item
TOKENS, NEURONS = "outputs/tokens", "outputs/neurons"
CHECKS, CONTROLS = whole_table("outputs/checks"), whole_table("outputs/controls")
states_file = partial(shard_file, "outputs")
random_file = partial(partial_file, "outputs", "random")
check_file = partial(partial_file, "outputs", "check")


def outputs(config: OutputsConfig, run: Run) -> None:
    """Run the stage, or the missing part of it, and print how peaked the outputs are, and the result of the check."""
    topk = run.require("topk")
    facts = model_of_topk(run)
    dictionaries = dictionaries_of(run, facts)
    config = config.model_copy(update={"units": chosen_units(config, run, "put through the head")})
    placement = choose_placement(config, run, "outputs")
    layers = tuple(each.layer for each in dictionaries) or tuple(range(1, facts.layers + 1))
    vocabulary = check_written(facts, topk["identity"]["site"], layers, dictionaries)
    resolved = config.model_dump(mode="json")
    names = ("sentences", "random", "check", "check_sentences", "seed", "units")
    stage = begin_stage(
        "outputs", config, run, {**{name: resolved[name] for name in names}, **placement.identity},
        counted=("neurons", "units"),
        options=resolved | {"device": placement.device, "token_budget": placement.token_budget},
    )  # fmt: skip
    if stage is None:
        return
    scored = Scored.of(run)
    args = OutputsArgs(
        store=stage.store, neurons=scored.neurons, seed=config.seed, facts=facts, site=scored.site,
        dictionaries=dictionaries, placement=placement, units=np.sort(scored.neurons.named(config.units)),
        shards=run.shards(), kept=kept_tokens(run),
        equal_lengths=scored.counts.get("equal_lengths", True), config=config,
    )  # fmt: skip
    n = len(args.units)
    rows = {
        TOKENS: n * len(SIDES) * SHOWN, NEURONS: n, CHECKS.table: config.check,
        CONTROLS.table: 2 * len(args.layers) * len(MEASURES),
    }  # fmt: skip
    counts = stage.complete(outputs_steps(stage, args, vocabulary), rows, {"neurons": n})
    if counts is not None:
        print("\n".join(counts["said"]))


@dataclass(frozen=True, kw_only=True)
class OutputsArgs(StageArgs):
    """The arguments of every worker.

    Attributes:
        site, dictionaries: the site or sparse dictionaries that define the model's units.
        units: the indices of the units to measure, ascending.
        kept, equal_lengths: the stored tokens of corpus/, and whether all sentences of a batch must be equally long.
    """

    facts: ModelFacts
    site: str
    dictionaries: tuple[Description, ...]
    placement: Placement
    units: Int64s
    shards: Shards
    kept: KeptTokens | None
    equal_lengths: bool
    config: OutputsConfig

    @property
    def layers(self) -> dict[int, Int64s]:
        """The units to measure, by layer; units are counted from 0 within their layer and ascending."""
        layers, units = self.neurons.layer_and_unit(self.units)
        return {layer: units[layers == layer].astype(np.int64) for layer in sorted(set(layers.tolist()))}

    def drawn(self, count: int, purpose: int) -> dict[int, list[int]]:
        """Return the ids of sentences drawn for a purpose, by the shard that holds them."""
        ids = sampling.draw(self.shards.sentences, count, self.seed, purpose)
        return {shard: rows.tolist() for shard, rows in enumerate(self.shards.split(ids)) if len(rows)}

    def spread(self) -> Float64s:
        """Return the standard deviation of every unit's activations over the corpus, `[neurons]`."""
        return neuron_columns(self.store, "neurons", ("std",), self.neurons)["std"]


def outputs_steps(stage: Stage, args: OutputsArgs, vocabulary: int) -> Steps:
    """Yield the steps, write the tables that need all items and the figure, and return the counts.

    `vocabulary` is the number of rows of the unembedding.
    """
    steps = [states_step(args), random_step(args, vocabulary), units_step(args, vocabulary)]
    checks = [check_step(args)] if args.config.check else []
    yield [*steps, *checks]
    notes = read_notes(stage.store, [states_file(item["shard"]) for item in steps[0].items])
    controls = controls_table(args)
    CONTROLS.commit(stage.store, controls, stage.fingerprint)
    counts = {
        "neurons": len(args.units), "sentences": sum(note["sentences"] for note in notes),
        "positions": sum(note["tokens"] for note in notes), "random": args.config.random, "checked": 0,
        "said": said_peaked(controls.to_pylist()),
    }  # fmt: skip
    for step in checks:
        tables = read_partials(stage.store, [check_file(item["block"]) for item in step.items])
        table = schema.concatenate(CHECKS.table, tables)
        CHECKS.commit(stage.store, table, stage.fingerprint)
        counts |= {"checked": table.num_rows, "said": [*counts["said"], *said_checked(table.to_pylist())]}
    figures = save_figures(stage.store, "outputs/figures", peaked_figures(controls), args.facts.title)
    return {**counts, "figures": figures}


def controls_table(args: OutputsArgs) -> pa.Table:
    """Return outputs/controls, which says per layer how peaked the outputs of units and of random directions are."""
    rows: list[dict[str, Any]] = []
    measured = read_heard(args.store, NEURONS, columns=["layer", "unit", *MEASURES])
    layers = measured["layer"].to_numpy()
    for layer in args.layers:
        random = read_partial(args.store, random_file(layer + 1))
        for name in MEASURES:
            values = measured[name].to_numpy(zero_copy_only=False)[layers == layer].astype(np.float64)
            rows += control_rows(layer, name, values, random[name].to_numpy())
    return schema.table(CONTROLS.table, rows)


def states_step(args: OutputsArgs) -> Step:
    """Return the step that sums the states of a sample of the corpus, shard by shard."""
    drawn = args.drawn(args.config.sentences, sampling.OUTPUT_SENTENCES)
    items: list[Item] = [{"shard": shard, "rows": rows, "sentences": len(rows)} for shard, rows in drawn.items()]
    sentences = sum(item["sentences"] for item in items)
    return model_step(
        args.facts, args.placement, "float32", sentences, name="outputs: mean state", items=items,
        outputs=lambda item: [states_file(item["shard"])], worker=StateSummer, unit="shards",
        work=("sentences", sentences), args={"args": args},
    )  # fmt: skip


def random_step(args: OutputsArgs, vocabulary: int) -> Step:
    """Return the step that applies the head to random directions, layer by layer."""
    return Step(
        name="outputs: random directions", items=[{"layer": layer} for layer in args.layers], args={"args": args},
        # The file of layer 0, the embeddings, has index 1.
        outputs=lambda item: [random_file(item["layer"] + 1)], worker=RandomMeasurer, unit="layers",
        amount=args.config.random * len(args.layers) * vocabulary, **args.placement.spread,
    )  # fmt: skip


def units_step(args: OutputsArgs, vocabulary: int) -> Step:
    """Return the step that applies the head to the units, one range of a layer's units at a time."""
    items: list[Item] = []
    start = 0
    for units in args.layers.values():
        for first, stop in spans(len(units), NEURONS_PER_PART):
            items.append({"range": len(items), "first": start + first, "stop": start + stop})
        start += len(units)
    return Step(
        args={"args": args}, **args.placement.spread, name="outputs: units", items=items,
        outputs=lambda item: [range_part(table, item) for table in (TOKENS, NEURONS)], worker=UnitMeasurer,
        unit="ranges", amount=len(args.units) * vocabulary,
    )  # fmt: skip


def check_step(args: OutputsArgs) -> Step:
    """Return the step that increases the activations of some units and runs the model."""
    std = args.spread()
    allowed = {
        layer: numbers[np.greater(std[args.neurons.number(np.array(layer), numbers)], 0)]
        for layer, numbers in args.layers.items()
    }
    drawn = drawn_units(allowed, args.config.check, args.seed)
    return model_step(
        args.facts, args.placement, "float32", args.config.check_sentences * len(drawn), name="outputs: check",
        items=[{"block": i, "units": drawn[a:b]} for i, (a, b) in enumerate(spans(len(drawn), UNITS_PER_CHECK))],
        outputs=lambda item: [check_file(item["block"])], worker=UnitChecker, unit="blocks", args={"args": args},
    )  # fmt: skip


class HeadWorker:
    """Base class of workers, with the model, its head, the directions of its units and the linearised head."""

    def __init__(self, args: OutputsArgs) -> None:
        self.args = args
        self.head = TokenHead(args.facts, args.placement.device, args.placement.threads)
        self.tokenizer = Tokenizer(args.facts)
        rows = self.head.unembedding.out_features
        self.strings = self.tokenizer.vocabulary()[:rows]
        # Rows for which the tokenizer has no token are padding of the matrix, and were never trained.
        self.tokens = torch.tensor([i for i, string in enumerate(self.strings) if string], dtype=torch.int64)
        # The head is linearised once for each entry; what the most recently requested layer writes is kept.
        self.linear = cache(self._linear)
        self.written = lru_cache(1)(partial(written_by, self.head, args.site, dictionaries=args.dictionaries))

    def _linear(self, entry: Entry) -> LinearHead:
        return self.head.linearise(mean_state(self.args, entry), entry, self.tokens)

    def batches(self, shard: int, rows: list[int], budget: int) -> Any:
        """Return batches of the tokens of some sentences of a shard."""
        corpus = CorpusTokens(self.args.store, self.args.kept, lambda: self.tokenizer)
        return corpus.batches(shard, budget, self.args.equal_lengths, np.array(rows, np.int64))


def mean_state(args: OutputsArgs, entry: Entry) -> torch.Tensor:
    """Return the mean state at one entry of the head, `[width]` float64.

    Raises:
        InputError: the drawn sentences have no token that counts.
    """
    files = [states_file(shard) for shard in args.drawn(args.config.sentences, sampling.OUTPUT_SENTENCES)]
    tokens = sum(note["tokens"] for note in read_notes(args.store, files))
    if not tokens:
        raise InputError("--sentences: none of the drawn sentences has a token that counts; draw more")
    total = sum(read_arrays(table)[entry] for table in read_partials(args.store, files))
    return torch.from_numpy(np.asarray(total / tokens))


class StateSummer(HeadWorker):
    """Sums the states of a shard's drawn sentences at the entries of the head."""

    def __call__(self, item: Item) -> Made:
        """Sum the states of one shard's sentences."""
        tokens = 0
        sums: dict[Entry, torch.Tensor] = {}
        for _, batch in self.batches(item["shard"], item["rows"], self.args.placement.token_budget):
            of_batch, count = self.head.state_sums(batch, self.tokenizer.pad_id)
            sums = {entry: of_batch[entry] + sums[entry] if entry in sums else of_batch[entry] for entry in ENTRIES}
            tokens += count
        table = write_arrays(**{entry: sums[entry].numpy() for entry in ENTRIES})
        return {states_file(item["shard"]): Noted(table, {"tokens": tokens, "sentences": item["sentences"]})}


class RandomMeasurer(HeadWorker):
    """Applies the head to the random directions of a layer."""

    def __call__(self, item: Item) -> Made:
        """Measure how peaked the outputs of one layer's random directions are."""
        args, written = self.args, self.written(item["layer"])
        effects = random_effects(self.linear(written.entry), written, args.config.random, args.seed)
        table = pa.table({name: getattr(effects, name) for name in MEASURES})
        return {random_file(item["layer"] + 1): table}


class UnitMeasurer(HeadWorker):
    """Applies the head to ranges of units."""

    def __init__(self, args: OutputsArgs) -> None:
        super().__init__(args)
        self.std = args.spread()

    def __call__(self, item: Item) -> Made:
        """Return the parts of the tables for one range."""
        args = self.args
        numbers = args.units[item["first"] : item["stop"]]
        layers, own = args.neurons.layer_and_unit(numbers)
        layer, units, std = int(layers[0]), own.astype(np.int64), self.std[numbers]
        written, indices = self.written(layer), torch.from_numpy(units)
        directions = written.directions(indices)
        effects = token_effects(self.linear(written.entry), directions, SHOWN)
        random = read_partial(args.store, random_file(layer + 1))
        null = {name: random[name].to_numpy() for name in MEASURES}
        norms, cosines = directions.cpu().double().norm(dim=1).cpu().numpy(), written.cosines(indices)
        known = None if cosines is None else cosines.cpu().numpy()
        return {
            range_part(TOKENS, item): token_rows(layer, units, effects, std, self.strings),
            range_part(NEURONS, item): neuron_rows(layer, units, effects, std, null, norms, known),
        }


class UnitChecker(HeadWorker):
    """Increases the activations of units, one at a time, in the same sentences."""

    def __init__(self, args: OutputsArgs) -> None:
        super().__init__(args)
        self.std = args.spread()
        budget = max(min(args.placement.token_budget, LOGITS_AT_ONCE // self.head.unembedding.out_features), 1)
        drawn = args.drawn(args.config.check_sentences, sampling.CHECKED_SENTENCES)
        batches = [batch for shard, rows in drawn.items() for _, batch in self.batches(shard, rows, budget)]
        self.checker = Checker(self.head, batches, self.tokenizer.pad_id, self.tokens)

    def __call__(self, item: Item) -> Made:
        """Check one block of units."""
        rows = []
        for layer, unit, other in item["units"]:
            written = self.written(layer)
            amount = float(self.std[self.args.neurons.span(layer)[0] + unit])
            change = self.checker.change(written, unit, amount)
            rows.append(
                check_row(self.linear(written.entry), written, (unit, other), amount, change, self.checker.positions)
            )
        return {check_file(item["block"]): schema.table(CHECKS.table, rows)}
