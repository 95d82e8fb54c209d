"""The part `diversity` of `compare`: are the winners of a layer more similar to each other than random sentences?"""

import sys
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from jobs.compare.compared_run import ModelArgs, model_of, part_args, part_plan, run_part
from jobs.compare.job import CompareConfig
from jobs.engine.item import Item
from jobs.stage.corpus_pass import describe, kept_tokens
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.outputs import partial_file, read_partial, read_partials, shard_file, write_partial
from jobs.stage.placement import choose_placement
from jobs.stage.run import Run
from jobs.stage.runner import Stage, Step
from ops.arrays import Int64s
from ops.compare.diversity import curve_rows, draw_uniform, draw_winners
from ops.compare.diversity_figures import draw_curves
from ops.compare.winner_vectors import Embedder, SentenceVectors
from ops.corpus.corpus_tokens import CorpusTokens, KeptTokens
from ops.errors import InputError, counted
from ops.model.activations import ScoreOptions
from ops.model.tokenizer import Tokenizer
from ops.schema import schema
from ops.shards import Shards
from ops.storage.tables import write_part

PART = "compare/diversity"
# Measured with the packaged model on one core: the seconds per draw, per point and cluster, and per sentence; bytes
# written.
DRAW_S, POINT_S, SENTENCE_S, FIGURE_BYTES = 0.5, 5e-5, 0.012, 200_000
# For each layer: the sentences drawn from its winners (layer 0: from the complete corpus), and the sums of squares for
# each number of clusters.
drawn_file, curve_file = partial(partial_file, PART, "drawn"), partial(partial_file, PART, "curve")


@dataclass(frozen=True)
class DiversityArgs(ModelArgs):
    """The arguments of the workers."""

    shards: Shards
    clusters: tuple[int, ...]
    sample: int
    kept: KeptTokens | None

    @property
    def layers(self) -> int:
        """The number of layers."""
        return len(self.neurons.widths)


def diversity_part(config: CompareConfig, record: Run) -> None:
    """Write compare/diversity and its figure, or the missing part of them."""
    facts, place = model_of(record), choose_placement(config, record, PART)
    pool = "cls" if Tokenizer(facts).has_cls and not facts.decoder else "mean"
    clusters = tuple(sorted(set(config.diversity_clusters)))
    depends_on = {
        "diversity_clusters": list(clusters), "diversity_sample": config.diversity_sample, "pool": pool,
        "dtype": config.dtype, **place.identity,
    }  # fmt: skip

    def args(config: CompareConfig, stage: Stage) -> DiversityArgs:
        scoring = ScoreOptions("hidden", pool, "include", place.device, config.dtype, place.threads or 1)
        return DiversityArgs(
            **vars(part_args(config, stage)), facts=facts, scoring=scoring, place=place, shards=record.shards(),
            clusters=clusters, sample=config.diversity_sample, kept=kept_tokens(record),
        )  # fmt: skip

    about = {"model": describe(facts)}
    run_part("diversity", config, record, depends_on, args, measure, plan, about)


def measure(config: CompareConfig, stage: Stage, args: DiversityArgs) -> dict[str, Any]:
    """Draw, embed and cluster the winners, write the table and its figure, and return the counts."""
    stage.do(draw_step(args))
    check_clusters(args)
    chosen = drawn_sentences(args)
    stage.do(embed_step(args, chosen))
    stage.do(curves_step(args))
    curves = [curve_file(layer) for layer in range(1, args.layers + 1)]
    found = pa.concat_tables(read_partials(args.store, curves))
    write_part(args.store, PART, 0, schema(PART), [found], args.fingerprint)
    figures = draw_curves(args.store, found, args.facts.title)
    return {"rows": found.num_rows, "embedded": len(chosen), "pool": args.scoring.pool, "figures": figures}


def plan(config: CompareConfig, stage: Stage, args: DiversityArgs, record: DryRun) -> Plan:
    """Return what the part would do."""
    most = min(args.sample * (args.layers + 1), args.shards.sentences)
    steps = [(draw_step(args), DRAW_S), (curves_step(args), sum(args.clusters) * args.sample * POINT_S)]
    more = [f"embed at most {most:,} sentences that were drawn, each once"]
    seconds = most * SENTENCE_S if args.place.device == "cpu" else None
    return part_plan(stage, record, steps, FIGURE_BYTES, more, seconds)


def draw_step(args: DiversityArgs) -> Step:
    """Return the step that draws winners of every layer, and sentences of the complete corpus."""
    items = [{"layer": layer} for layer in range(args.layers + 1)]
    return Step("compare: draw", items, lambda i: [drawn_file(i["layer"])], WinnerDrawer, {"args": args}, here=True)


def embed_step(args: DiversityArgs, chosen: Int64s) -> Step:
    """Return the step that embeds the distinct drawn sentences, by shards of the corpus."""
    split = args.shards.split(chosen)
    items = [{"shard": i, "sent_ids": own.tolist()} for i, own in enumerate(split) if len(own)]
    return Step(
        "compare: embed", items, lambda item: [shard_file(PART, item["shard"])], EmbeddingWorker, {"args": args},
        "shards", ("sentences", len(chosen)), holds=args.place.holds, workers=args.place.workers, actors=True,
    )  # fmt: skip


def curves_step(args: DiversityArgs) -> Step:
    """Return the step that clusters each layer's winners, and the same number of sentences of the complete corpus."""
    items = [{"layer": layer} for layer in range(1, args.layers + 1)]
    given = {"args": args}
    return Step("compare: clusters", items, lambda i: [curve_file(i["layer"])], CurveMeasurer, given, "layers")


def check_clusters(args: DiversityArgs) -> None:
    """Print the numbers of clusters that are skipped because a layer has fewer distinct winners.

    Raises:
        InputError: no number of clusters is left for any layer.
    """
    draws = read_partials(args.store, [drawn_file(layer) for layer in range(1, args.layers + 1)])
    distinct = [table.num_rows for table in draws]
    if args.clusters[0] > max(distinct):
        raise InputError(
            f"--diversity-clusters {args.clusters[0]}: no layer has more than {counted(max(distinct), 'sentence')} "
            "among the drawn winners; give a smaller number"
        )
    if beyond := [str(number) for number in args.clusters if number > min(distinct)]:
        print(
            f"compare/diversity: {', '.join(beyond)} clusters are skipped for layers with fewer sentences among the "
            f"drawn winners (fewest: {min(distinct):,})",
            file=sys.stderr,
        )


class WinnerDrawer:
    """Draws from the winners of layers."""

    def __init__(self, args: DiversityArgs) -> None:
        self.args = args

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Commit the sentences drawn from a layer's winners (layer 0: from the corpus), with the count of each."""
        args, layer = self.args, item["layer"]
        if layer:
            drawn = draw_winners(args.store, layer, args.sample, args.seed)
        else:
            drawn = draw_uniform(args.store, args.shards.sentences, args.sample, args.seed)
        write_partial(args.store, drawn_file(layer), drawn, args.fingerprint)
        return {"layer": layer}


def drawn_sentences(args: DiversityArgs) -> Int64s:
    """Return the distinct sentences of all draws, ascending."""
    draws = read_partials(args.store, [drawn_file(layer) for layer in range(args.layers + 1)])
    return np.unique(np.concatenate([table["sent_id"].to_numpy() for table in draws]))


class EmbeddingWorker:
    """Embeds the chosen sentences of shards, as the last layer's [CLS] state or, without [CLS], as the mean."""

    def __init__(self, args: DiversityArgs) -> None:
        self.args, self.embedder = args, Embedder(args.facts, args.scoring, args.place.token_budget)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Embed the chosen sentences of one shard."""
        tokens = CorpusTokens(self.args.store, self.args.kept, lambda: self.embedder.tokenizer)
        table = self.embedder.embed(tokens, item["shard"], np.array(item["sent_ids"], np.int64))
        write_partial(self.args.store, shard_file(PART, item["shard"]), table, self.args.fingerprint)
        return {"sentences": table.num_rows}


class CurveMeasurer:
    """Measures the curves of layers."""

    def __init__(self, args: DiversityArgs) -> None:
        self.args = args
        shards = [i for i, own in enumerate(args.shards.split(drawn_sentences(args))) if len(own)]
        self.vectors = SentenceVectors(read_partials(args.store, [shard_file(PART, shard) for shard in shards]))

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Measure the curve of one layer and commit its rows."""
        layer, args = item["layer"], self.args
        points, times = self.vectors.of(read_partial(args.store, drawn_file(layer)))
        uniform, _ = self.vectors.of(read_partial(args.store, drawn_file(0)))
        count = min(len(points), len(uniform))
        rows = curve_rows(layer, points[:count], uniform[:count], times[:count], args.clusters, args.seed)
        write_partial(args.store, curve_file(layer), rows, args.fingerprint)
        return {"layer": layer}
