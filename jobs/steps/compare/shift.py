"""The part `shift` of `compare`: how far another model's vectors of the same sentences are from this one's."""

from typing import Any

import numpy as np
import pyarrow as pa

from jobs.stage.compare_config import CompareConfig
from jobs.stage.compare_files import distances_file, runs_file, text_set_file
from jobs.stage.corpus_pass import describe
from jobs.stage.placement import Placement, choose_placement
from jobs.stage.run import Run
from jobs.stage.runner import Stage, Step
from jobs.steps.compare.compared_run import PartWork, begin_part, model_of, neurons_of
from jobs.steps.compare.shift_input import check_shift
from jobs.steps.compare.shift_workers import (
    Distancer,
    RunComparer,
    ShiftArgs,
    TextSetReader,
    blocks_of,
    read_distances,
    text_set_rows,
)
from ops import sampling
from ops.compare.model_shift import shift_rows, shift_tables, with_whole
from ops.compare.shift_figures import draw_shift
from ops.errors import InputError
from ops.model.activations import ScoreOptions
from ops.schema import schema
from ops.sources.pieces import source_fingerprint
from ops.sources.source_format import Source
from ops.storage.range_file import read_each
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store
from ops.storage.tables import write_part

# Measured with the packaged model on one core: seconds of reading a text set, of a sentence; bytes that are written.
SET_S, SENTENCE_S, NEURON_BYTES, FIGURE_BYTES = 2.0, 0.011, 20, 200_000
SAMPLE = "activation_sample"  # the text set that two runs of one corpus share


def shift_part(config: CompareConfig, record: Run) -> PartWork | None:
    """Begin compare/shift, compare/shift_layers, compare/shift_neurons and their figure; None where they were done."""
    given = check_shift(config, record)
    names, sources, other, against = given.names, given.sources, given.other, given.against
    neurons, facts = neurons_of(record), model_of(record)
    place, topk = choose_placement(config), record.require("topk")["identity"]
    identity: dict[str, Any] = {
        "against": against.fingerprint,
        "text_set": [f"{n}:{s.kind}:{source_fingerprint(s)}" for n, s in zip(names, sources, strict=True)],
        "text_column": config.text_column, "split": config.split, "text_limit": config.text_limit,
        "resamples": config.resamples, "dtype": config.dtype, **place.identity,
    }  # fmt: skip
    if other is not None:
        identity["against_run"] = other.require("topk")["fingerprint"]
    stage = begin_part("shift", config, record, identity)
    if stage is None:
        return None
    stage.entry["against"] = describe(against)
    options = ScoreOptions(
        topk["site"], topk["pool"], topk["special_tokens"], place.device, config.dtype, place.threads or 1
    )
    args = ShiftArgs(
        stage.store,
        stage.fingerprint,
        facts,
        against,
        options,
        place.token_budget,
        neurons,
        {"text_column": config.text_column, "split": config.split},
        config.text_limit,
        config.seed,
    )
    reading = read_step(args, names, sources)

    def do() -> None:
        stage.do(reading)
        measure(config, stage, args, names, place, other if given.same_corpus else None)

    most = config.text_limit * len(names)
    more = [f"have both models read at most {most:,} sentences"]
    if given.same_corpus:
        more.append(f"set the winners of {len(neurons):,} neurons beside those of the other run")
    seconds = 2 * most * SENTENCE_S if place.device == "cpu" else None
    return PartWork(stage, do, [(reading, SET_S)], len(neurons) * NEURON_BYTES + FIGURE_BYTES, more, seconds)


def measure(
    config: CompareConfig, stage: Stage, args: ShiftArgs, names: list[str], place: Placement, other: Run | None
) -> None:
    """Have both models read the text sets, compare the runs where there are two, write the tables and finish."""
    neurons = args.neurons
    sizes = [text_set_rows(stage.store, i) for i in range(len(names))]
    if 0 in sizes:
        raise InputError(f"--text-set {config.text_set[sizes.index(0)]}: gives no usable sentence; name another source")
    blocks = blocks_of(sizes)
    stage.do(distances_step(args, blocks, sum(sizes), place.holds, place.workers))
    rows, shift = merge(args, names, blocks, config.resamples)
    alike = pa.table({"jaccard": pa.nulls(len(neurons)), "rank_correlation": pa.nulls(len(neurons))})
    if other is not None:
        stage.do(runs_step(args, other.store))
        with stage.store.parquet(runs_file("neurons").path) as file:
            table = file.read()
        if not names:
            distances = with_whole(*read_distances(stage.store, runs_file("distances")))
            rng = np.random.default_rng([config.seed, sampling.BOOTSTRAP])
            rows, shift = shift_rows(SAMPLE, distances, config.resamples, rng), table["shift"].to_numpy()
        alike = table.select(["jaccard", "rank_correlation"])
    number, unit = neurons.layer_and_unit(np.arange(len(neurons)))
    found = pa.table({"layer": number, "unit": unit, "shift": shift, **{n: alike[n] for n in alike.column_names}})
    tables = {**shift_tables(rows), "compare/shift_neurons": found.cast(schema("compare/shift_neurons"))}
    for name, table in tables.items():
        write_part(stage.store, name, 0, schema(name), [table], stage.fingerprint)
    figures = draw_shift(stage.store, tables, args.facts.title, args.against.title)
    counts = {"rows": tables["compare/shift"].num_rows, "sentences": sum(sizes), "neurons": len(neurons)}
    stage.finish({**counts, "figures": figures})


def read_step(args: ShiftArgs, names: list[str], sources: list[Source]) -> Step:
    """Return the step that draws the sentences of each text set."""
    items = [{"number": i, "spec": s.spec, "name": n} for i, (n, s) in enumerate(zip(names, sources, strict=True))]
    given = {"args": args}
    return Step(
        "compare: text sets", items, lambda item: [text_set_file(item["number"])], TextSetReader, given, "text sets"
    )


def distances_step(
    args: ShiftArgs, blocks: list[dict[str, int]], sentences: int, holds: dict[str, Any], workers: int | None
) -> Step:
    """Return the step that has both models read every block of sentences."""
    kinds, work, given = ("neurons", "distances"), ("sentences", sentences), {"args": args}
    return Step(
        "compare: shift",
        blocks,
        lambda item: [distances_file(item["block"], kind) for kind in kinds],
        Distancer,
        given,
        "blocks",
        work,
        holds=holds,
        workers=workers,
        actors=True,
    )


def runs_step(args: ShiftArgs, other: Store) -> Step:
    """Return the step that sets the winners and the samples of two runs beside each other."""
    given, outputs = {"args": args, "other": other}, [runs_file("distances"), runs_file("neurons")]
    return Step("compare: two runs", [{"all": True}], lambda _: outputs, RunComparer, given, "pair of runs")


def merge(
    args: ShiftArgs, names: list[str], blocks: list[dict[str, int]], resamples: int
) -> tuple[list[dict[str, object]], Any]:
    """Return the rows of compare/shift_layers, and each neuron's mean shift, from all blocks in their order."""
    rows: list[dict[str, object]] = []
    total, count = np.zeros(len(args.neurons)), 0
    for number, name in enumerate(names):
        own = [item["block"] for item in blocks if item["text_set"] == number]
        parts = list(side_by_side(lambda block: read_distances(args.store, distances_file(block, "distances")), own))
        for table in read_each(args.store, (distances_file(block, "neurons").path for block in own)):
            total += table["shift"].to_numpy()
        found = np.concatenate(parts, 1)
        if not found.shape[1]:
            raise InputError(f"--text-set {name}: no sentence of it has finite activations in both models")
        count += found.shape[1]
        rng = np.random.default_rng([args.seed, sampling.BOOTSTRAP, number])
        rows += shift_rows(name, with_whole(found[0], found[1]), resamples, rng)
    return rows, total / max(count, 1)
