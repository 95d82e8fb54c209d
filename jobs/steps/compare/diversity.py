"""The part `diversity` of `compare`: are the winners of a layer more alike than sentences drawn from the corpus?"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from jobs.engine.item import Item
from jobs.stage.compare_config import CompareConfig
from jobs.stage.compare_files import curve_file, drawn_file
from jobs.stage.corpus_pass import describe
from jobs.stage.layout import Output, shard_file
from jobs.stage.placement import choose_placement
from jobs.stage.run import Run
from jobs.stage.runner import Stage, Step
from jobs.steps.compare.compared_run import PartWork, begin_part, model_of, neurons_of
from jobs.steps.compare.diversity_workers import (
    PART,
    CurveMeasurer,
    DiversityArgs,
    Embedder,
    WinnerDrawer,
    drawn_sentences,
)
from ops.compare.diversity_figures import draw_curves
from ops.model.activations import ScoreOptions
from ops.model.tokenizer import Tokenizer
from ops.schema import schema
from ops.shards import Shards
from ops.storage.tables import write_part

# Measured with the packaged model on one core: seconds of a draw, of a point and cluster, of a sentence; bytes written.
DRAW_S, POINT_S, SENTENCE_S, FIGURE_BYTES = 0.5, 5e-5, 0.012, 200_000


def diversity_part(config: CompareConfig, record: Run) -> PartWork | None:
    """Begin compare/diversity and its figure; None where they were done before."""
    facts = model_of(record)
    tokenizer, place = Tokenizer(facts), choose_placement(config)
    pool = "cls" if tokenizer.has_cls and not facts.decoder else "mean"
    clusters = tuple(sorted(set(config.diversity_clusters)))
    identity = {"diversity_clusters": list(clusters), "diversity_sample": config.diversity_sample, "pool": pool}
    identity |= {"dtype": config.dtype, **place.identity}
    stage = begin_part("diversity", config, record, identity)
    if stage is None:
        return None
    corpus, layers = record.require("ingest"), len(neurons_of(record).widths)
    shards = Shards(corpus["counts"]["sentences"], corpus["config"]["shard_size"])
    scoring = ScoreOptions("hidden", pool, "include", place.device, config.dtype, place.threads or 1)
    args = DiversityArgs(
        stage.store,
        stage.fingerprint,
        facts,
        scoring,
        place.token_budget,
        shards,
        layers,
        clusters,
        config.diversity_sample,
        config.seed,
    )
    stage.entry["model"] = describe(facts)
    drawing, curves = draw_step(args), curves_step(args)

    def do() -> None:
        stage.do(drawing)
        chosen = drawn_sentences(args.store, layers)
        stage.do(embed_step(args, chosen, place.holds, place.workers))
        stage.do(curves)
        publish(stage, args, len(chosen))

    most = min(args.sample * (layers + 1), shards.sentences)
    steps = [(drawing, DRAW_S), (curves, sum(clusters) * args.sample * POINT_S)]
    more = [f"embed at most {most:,} sentences that were drawn, each once"]
    seconds = most * SENTENCE_S if place.device == "cpu" else None
    return PartWork(stage, do, steps, FIGURE_BYTES, more, seconds)


def publish(stage: Stage, args: DiversityArgs, embedded: int) -> None:
    """Write the table and its figure, and finish the stage."""
    layers, tables = args.layers, []
    for layer in range(1, layers + 1):
        with args.store.parquet(curve_file(layer).path) as file:
            tables.append(file.read())
    found = pa.concat_tables(tables)
    write_part(args.store, PART, 0, schema(PART), [found], args.fingerprint)
    figures = draw_curves(args.store, found, args.facts.title)
    stage.finish({"rows": found.num_rows, "embedded": embedded, "pool": args.scoring.pool, "figures": figures})


def draw_step(args: DiversityArgs) -> Step:
    """Return the step that draws winners of every layer, and sentences of the whole corpus."""
    items = [{"layer": layer} for layer in range(args.layers + 1)]
    return Step("compare: draw", items, lambda i: [drawn_file(i["layer"])], WinnerDrawer, {"args": args}, here=True)


def embed_step(args: DiversityArgs, chosen: npt.NDArray[np.int64], holds: dict[str, Any], workers: int | None) -> Step:
    """Return the step that embeds the sentences that were drawn, each once, by the shards of the corpus."""
    split = args.shards.split(chosen)
    items = [{"shard": i, "sent_ids": own.tolist()} for i, own in enumerate(split) if len(own)]

    def outputs(item: Item) -> list[Output]:
        return [shard_file(PART, item["shard"])]

    work = ("sentences", len(chosen))
    given = {"args": args}
    return Step(
        "compare: embed", items, outputs, Embedder, given, "shards", work, holds=holds, workers=workers, actors=True
    )


def curves_step(args: DiversityArgs) -> Step:
    """Return the step that clusters each layer's winners, and as many sentences of the whole corpus."""
    items = [{"layer": layer} for layer in range(1, args.layers + 1)]
    given = {"args": args}
    return Step("compare: clusters", items, lambda i: [curve_file(i["layer"])], CurveMeasurer, given, "layers")
