"""The steps of `outputs`: the mean state, random directions per layer, ranges of units, and the check."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from jobs.engine.item import Item
from jobs.outputs.job import OutputsConfig
from jobs.stage.corpus_pass import kept_tokens
from jobs.stage.files import (
    TablePart,
    partial_file,
    read_notes,
    read_partial,
    read_partials,
    shard_file,
    table_part,
    write_partial,
)
from jobs.stage.placement import Placement
from jobs.stage.runner import Stage, Step
from ops import sampling, schema
from ops.arrays import Float64s, Int64s
from ops.compare.scalar_properties import neuron_columns
from ops.corpus.corpus_tokens import CorpusTokens, KeptTokens
from ops.dictionaries.description import Description
from ops.errors import InputError
from ops.model.batches import Lengths, batch_lengths
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.outputs.check_effects import Checker, batch_budget, drawn_units
from ops.outputs.control_rows import control_rows, said_checked, said_peaked
from ops.outputs.figures import draw_controls
from ops.outputs.names import MEASURES, SHOWN
from ops.outputs.tables import check_row, neuron_rows, token_rows
from ops.outputs.token_effects import random_effects, token_effects
from ops.outputs.token_head import ENTRIES, Entry, LinearHead, TokenHead
from ops.outputs.written import Written, written_by
from ops.shards import Shards, spans
from ops.storage.arrays import read_arrays, write_arrays
from ops.storage.store import Store
from ops.storage.tables import write_part
from ops.topk.neurons import NEURONS_PER_PART, Neurons, read_neurons
from ops.topk.silent import read_heard

UNITS_PER_CHECK = 4  # units in one item
TABLES = ("outputs/tokens", "outputs/neurons")
states_file = partial(shard_file, "outputs")
random_file = partial(partial_file, "outputs", "random")
check_file = partial(partial_file, "outputs", "check")


@dataclass(frozen=True)
class OutputsArgs:
    """The arguments of every worker.

    Attributes:
        store, fingerprint: the run's folder, and the fingerprint of this stage.
        facts, site, dictionaries: the model, and the site or sparse dictionaries that define its units.
        place: where the model runs.
        neurons: the neurons of the run.
        units: the indices of the units to measure, ascending.
        shards, kept, lengths: how corpus/ is read: its shards, its stored tokens, and the lengths that a batch may
            hold.
        sentences, random, check, check_sentences, seed: the options of these names.
    """

    store: Store
    fingerprint: str
    facts: ModelFacts
    site: str
    dictionaries: tuple[Description, ...]
    place: Placement
    neurons: Neurons
    units: Int64s
    shards: Shards
    kept: KeptTokens | None
    lengths: Lengths
    sentences: int
    random: int
    check: int
    check_sentences: int
    seed: int

    @property
    def layers(self) -> dict[int, Int64s]:
        """The units to measure, by layer; units are counted from 0 within their layer and ascending."""
        layers, units = self.neurons.layer_and_unit(self.units)
        return {layer: units[layers == layer].astype(np.int64) for layer in sorted(set(layers.tolist()))}

    def drawn(self, count: int, purpose: int) -> dict[int, list[int]]:
        """Return the ids of sentences drawn for a purpose, by the shard that holds them."""
        ids = sampling.draw(self.shards.sentences, count, self.seed, purpose)
        return {shard: own.tolist() for shard, own in enumerate(self.shards.split(ids)) if len(own)}


def outputs_args(
    config: OutputsConfig,
    facts: ModelFacts,
    dictionaries: tuple[Description, ...],
    place: Placement,
    stage: Stage,
) -> OutputsArgs:
    """Return the arguments of the workers."""
    record, store = stage.record, stage.store
    topk, neurons = record.require("topk"), read_neurons(store)
    lengths = batch_lengths(place.device, topk["counts"].get("equal_lengths", True))
    return OutputsArgs(
        store, stage.fingerprint, facts, topk["identity"]["site"], dictionaries, place, neurons,
        np.sort(neurons.named(config.units)), record.shards(), kept_tokens(record), lengths, config.sentences,
        config.random, config.check, config.check_sentences, config.seed,
    )  # fmt: skip


def measure(stage: Stage, args: OutputsArgs) -> dict[str, Any]:
    """Do the missing items of all steps, write the tables that need all items and the figure; return the counts."""
    states = states_step(args)
    stage.do(states)
    notes = read_notes(stage.store, [states_file(item["shard"]) for item in states.items])
    positions = sum(note["tokens"] for note in notes)
    if not positions:
        raise InputError("--sentences: none of the drawn sentences has a token that counts; draw more")
    random = random_step(args)
    stage.do(random)
    units = units_step(args)
    stage.do(units)
    counts = {
        "neurons": len(args.units), "sentences": sum(note["sentences"] for note in notes), "positions": positions,
        "random": args.random, "checked": 0,
    }  # fmt: skip
    checked: list[str] = []
    if args.check:
        checks = check_step(args)
        stage.do(checks)
        tables = read_partials(stage.store, [check_file(item["block"]) for item in checks.items])
        table = schema.table("outputs/checks", schema.concatenate("outputs/checks", tables))
        write_part(stage.store, "outputs/checks", 0, table.schema, [table], stage.fingerprint)
        counts["checked"], checked = table.num_rows, said_checked(table.to_pylist())
    controls = write_controls(stage, args)
    counts["figures"] = draw_controls(stage.store, controls, args.facts.title)
    return counts | {"said": said_peaked(controls.to_pylist()) + checked}


def write_controls(stage: Stage, args: OutputsArgs) -> pa.Table:
    """Write outputs/controls, which says per layer how peaked the outputs of units and of random directions are."""
    rows: list[dict[str, Any]] = []
    own = read_heard(stage.store, "outputs/neurons", columns=["layer", "unit", *MEASURES])
    of = own["layer"].to_numpy()
    for layer in args.layers:
        random = read_partial(stage.store, random_file(layer + 1))
        for name in MEASURES:
            values = own[name].to_numpy(zero_copy_only=False)[of == layer].astype(np.float64)
            rows += control_rows(layer, name, values, random[name].to_numpy())
    table = schema.table("outputs/controls", rows)
    write_part(stage.store, "outputs/controls", 0, table.schema, [table], stage.fingerprint)
    return table


def say_found(counts: dict[str, Any]) -> None:
    """Print the findings: how peaked the outputs are, and the result of the check."""
    print("\n".join(counts["said"]))


def states_step(args: OutputsArgs) -> Step:
    """Return the step that sums the states of a sample of the corpus, shard by shard."""
    drawn = args.drawn(args.sentences, sampling.OUTPUT_SENTENCES)
    items = [{"shard": shard, "rows": rows, "sentences": len(rows)} for shard, rows in drawn.items()]
    return Step(
        "outputs: mean state", items, lambda item: [states_file(item["shard"])], StateSummer, {"args": args}, "shards",
        ("sentences", sum(map(len, drawn.values()))), holds=args.place.holds, workers=args.place.workers,
        actors=True,
    )  # fmt: skip


def random_step(args: OutputsArgs) -> Step:
    """Return the step that applies the head to random directions, layer by layer."""
    # The file of layer 0, the embeddings, has index 1.
    items = [{"layer": layer} for layer in args.layers]
    return Step(
        "outputs: random directions", items, lambda item: [random_file(item["layer"] + 1)], RandomMeasurer,
        {"args": args}, "layers", holds=args.place.holds, workers=args.place.workers, actors=True,
    )  # fmt: skip


def units_step(args: OutputsArgs) -> Step:
    """Return the step that applies the head to the units, one range of a layer's units at a time."""
    items: list[Item] = []
    for layer, units in args.layers.items():
        for first, stop in spans(len(units), NEURONS_PER_PART):
            items.append({"part": len(items), "layer": layer, "units": units[first:stop].tolist()})
    return Step(
        "outputs: units", items, lambda item: [unit_part(table, item) for table in TABLES], UnitMeasurer,
        {"args": args}, "ranges", holds=args.place.holds, workers=args.place.workers, actors=True,
    )  # fmt: skip


def unit_part(table: str, item: Item) -> TablePart:
    """Return the part of a table for a range of units."""
    units = item["units"]
    return table_part(table, item["part"], f"layer-{item['layer']}-units-{units[0]}-{units[-1]}")


def check_step(args: OutputsArgs) -> Step:
    """Return the step that increases the activations of units and runs the model."""
    std = unit_spread(args)
    layers, start = args.layers, {layer: args.neurons.span(layer)[0] for layer in args.layers}
    allowed = {layer: own[np.greater(std[start[layer] + own], 0)] for layer, own in layers.items()}
    drawn = drawn_units(allowed, args.check, args.seed)
    items = [{"block": i, "units": drawn[a:b]} for i, (a, b) in enumerate(spans(len(drawn), UNITS_PER_CHECK))]
    return Step(
        "outputs: check", items, lambda item: [check_file(item["block"])], UnitChecker, {"args": args}, "blocks",
        holds=args.place.holds, workers=args.place.workers, actors=True,
    )  # fmt: skip


def unit_spread(args: OutputsArgs) -> Float64s:
    """Return the standard deviation of every unit's activations over the corpus, `[neurons]`."""
    ((_, std),) = neuron_columns(args.store, "neurons", ("std",), args.neurons)
    return std


class HeadWorker:
    """Base class of workers, with the model, its head, the directions of its units and the linearised head."""

    def __init__(self, args: OutputsArgs) -> None:
        self.args = args
        self.head = TokenHead(args.facts, args.place.device, args.place.threads)
        self.tokenizer = Tokenizer(args.facts)
        rows = self.head.unembedding.out_features
        self.strings = self.tokenizer.vocabulary()[:rows]
        # Rows for which the tokenizer has no token are padding of the matrix, and were never trained.
        self.tokens = torch.tensor([i for i, string in enumerate(self.strings) if string], dtype=torch.int64)
        self._linear: dict[Entry, LinearHead] = {}
        self._written: dict[int, Written] = {}

    def linear(self, entry: Entry) -> LinearHead:
        """Return the head linearised at the mean state."""
        if entry not in self._linear:
            self._linear[entry] = self.head.linearise(mean_state(self.args, entry), entry, self.tokens)
        return self._linear[entry]

    def written(self, layer: int) -> Written:
        """Return what a layer's units write; the most recently requested layer is cached."""
        if layer not in self._written:
            self._written = written_by(self.head, self.args.site, (layer,), self.args.dictionaries)
        return self._written[layer]

    def batches(self, shard: int, rows: list[int], budget: int) -> Any:
        """Return batches of the tokens of some sentences of a shard."""
        corpus = CorpusTokens(self.args.store, self.args.kept, lambda: self.tokenizer)
        return corpus.batches(shard, budget, self.args.lengths, np.array(rows, np.int64))


def mean_state(args: OutputsArgs, entry: Entry) -> torch.Tensor:
    """Return the mean state at one entry of the head, `[width]` float64."""
    files = [states_file(shard) for shard in args.drawn(args.sentences, sampling.OUTPUT_SENTENCES)]
    total, tokens = torch.zeros(0, dtype=torch.float64), 0
    for table, note in zip(read_partials(args.store, files), read_notes(args.store, files), strict=True):
        own = torch.from_numpy(read_arrays(table)[entry])
        total = own if not len(total) else total + own
        tokens += note["tokens"]
    return total / tokens


class StateSummer(HeadWorker):
    """Sums the states of a shard's drawn sentences at the entries of the head."""

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Read one shard's sentences and commit the sums."""
        args, tokens = self.args, 0
        sums: dict[Entry, torch.Tensor] = {}
        for _, batch in self.batches(item["shard"], item["rows"], args.place.token_budget):
            own, count = self.head.state_sums(batch, self.tokenizer.pad_id)
            sums = {entry: own[entry] + sums[entry] if entry in sums else own[entry] for entry in ENTRIES}
            tokens += count
        table = write_arrays(**{entry: sums[entry].numpy() for entry in ENTRIES})
        notes = {"tokens": tokens, "sentences": item["sentences"]}
        write_partial(args.store, states_file(item["shard"]), table, args.fingerprint, notes)
        return {"sentences": item["sentences"]}


class RandomMeasurer(HeadWorker):
    """Applies the head to the random directions of a layer."""

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Measure the random directions of one layer and commit how peaked their outputs are."""
        args, written = self.args, self.written(item["layer"])
        found = random_effects(self.linear(written.entry), written, args.random, args.seed)
        table = pa.table({name: getattr(found, name) for name in MEASURES})
        write_partial(args.store, random_file(item["layer"] + 1), table, args.fingerprint)
        return {"layer": item["layer"]}


class UnitMeasurer(HeadWorker):
    """Applies the head to ranges of units, and writes the parts of the tables."""

    def __init__(self, args: OutputsArgs) -> None:
        super().__init__(args)
        self.std = unit_spread(args)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Measure one range and commit its parts."""
        args, layer, units = self.args, item["layer"], np.array(item["units"], np.int64)
        written = self.written(layer)
        places = torch.from_numpy(units)
        directions = written.directions(places)
        effects = token_effects(self.linear(written.entry), directions, SHOWN)
        std = self.std[args.neurons.span(layer)[0] + units]
        random = read_partial(args.store, random_file(layer + 1))
        null = {name: random[name].to_numpy() for name in MEASURES}
        norms, cosines = directions.cpu().double().norm(dim=1), written.cosines(places)
        parts = {
            "outputs/tokens": token_rows(layer, units, effects, std, self.strings),
            "outputs/neurons": neuron_rows(
                layer,
                units,
                effects,
                std,
                null,
                norms.cpu().numpy(),
                None if cosines is None else cosines.cpu().numpy(),
            ),
        }
        for table in TABLES:
            unit_part(table, item).write(args.store, [parts[table]], args.fingerprint)
        return {"part": item["part"]}


class UnitChecker(HeadWorker):
    """Increases the activations of units, one at a time, in the same sentences."""

    def __init__(self, args: OutputsArgs) -> None:
        super().__init__(args)
        self.std = unit_spread(args)
        budget = batch_budget(self.head.unembedding.out_features, args.place.token_budget)
        drawn = args.drawn(args.check_sentences, sampling.CHECKED_SENTENCES)
        batches = [batch for shard, rows in drawn.items() for _, batch in self.batches(shard, rows, budget)]
        self.checker = Checker(self.head, batches, self.tokenizer.pad_id, self.tokens)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Check one block of units and commit its rows."""
        rows = []
        for layer, unit, other in item["units"]:
            written = self.written(layer)
            amount = float(self.std[self.args.neurons.span(layer)[0] + unit])
            change = self.checker.change(written, unit, amount)
            rows.append(
                check_row(self.linear(written.entry), written, (unit, other), amount, change, self.checker.positions)
            )
        table = schema.table("outputs/checks", rows)
        write_partial(self.args.store, check_file(item["block"]), table, self.args.fingerprint)
        return {"block": item["block"]}
