"""The part `diversity` of `compare`: are the winners of a layer more similar to each other than random sentences?"""

import sys
from collections.abc import Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from jobs.compare.job import CompareConfig
from jobs.compare.parts import ModelArgs, begin_part
from jobs.engine.item import Item
from jobs.run_folder.run import Run
from jobs.stage.checks import model_of_topk
from jobs.stage.corpus_pass import describe, kept_tokens
from jobs.stage.outputs import Output, file_of, partial_file, read_partial, read_partials
from jobs.stage.placement import choose_placement
from jobs.stage.runner import Stage
from jobs.stage.step import Step, Steps
from ops.compare.diversity import Embedder, SentenceVectors, curve_rows, draw_uniform, draw_winners
from ops.compare.figures import diversity_figure
from ops.corpus.corpus_tokens import CorpusTokens, KeptTokens
from ops.errors import InputError, counted
from ops.figures.files import save_figures
from ops.model.activations import ScoreOptions
from ops.model.direction import is_decoder
from ops.model.tokenizer import Tokenizer
from ops.storage.store import Store

PART = "compare/diversity"
# For each layer, the sentences drawn from its winners (layer 0: from the complete corpus).
drawn_file = partial(partial_file, PART, "drawn")


def diversity(config: CompareConfig, run: Run) -> None:
    """Write compare/diversity and its figure, or the missing part of them."""
    facts, placement = model_of_topk(run), choose_placement(config, run, PART)
    pool = "cls" if Tokenizer(facts).has_cls and not is_decoder(facts) else "mean"
    clusters = tuple(sorted(set(config.diversity_clusters)))
    depends_on = {
        "diversity_clusters": list(clusters), "diversity_sample": config.diversity_sample, "pool": pool,
        "dtype": config.dtype, **placement.identity,
    }  # fmt: skip
    stage = begin_part("diversity", config, run, depends_on, {"model": describe(facts)})
    if stage is None:
        return
    scoring = ScoreOptions("hidden", pool, "include", placement.device, config.dtype, placement.threads or 1)
    args = ModelArgs.of(config, stage, facts, scoring, placement)
    layers = len(args.neurons.widths)
    most = min(config.diversity_sample * (layers + 1), run.shards().sentences)
    notes = [f"then embed at most {most:,} sentences that were drawn, each once, and cluster them"]
    steps = diversity_steps(args, stage, clusters, config.diversity_sample)
    stage.complete(steps, {PART: layers * len(clusters)}, notes=notes)


def diversity_steps(args: ModelArgs, stage: Stage, clusters: tuple[int, ...], sample: int) -> Steps:
    """Draw, embed and cluster the winners, write the table and its figure, and return the counts."""
    store, corpus, seed = args.store, stage.run.shards(), args.seed
    layers = range(1, len(args.neurons.widths) + 1)
    drawn = [{"layer": layer} for layer in (0, *layers)]
    draw = Step(
        name="compare: draw", items=drawn, outputs=file_of(PART, "drawn", "layer"), worker=draw_sentences, here=True,
        args={"store": store, "sentences": corpus.sentences, "sample": sample, "seed": seed}, unit="layers",
    )  # fmt: skip
    yield [draw]
    draws = list(read_partials(store, draw.files))
    check_clusters(clusters, [table.num_rows for table in draws[1:]])
    sentences = np.unique(np.concatenate([table["sent_id"].to_numpy() for table in draws]))
    shards = [
        {"shard": i, "sent_ids": ids.tolist(), "sentences": len(ids)}
        for i, ids in enumerate(corpus.split(sentences))
        if len(ids)
    ]
    embed = args.model_step(
        PART, len(sentences), name="compare: embed", items=shards, worker=EmbeddingWorker,
        args={"args": args, "kept": kept_tokens(stage.run)}, outputs=file_of(PART, "shard"), unit="shards",
        work=("sentences", len(sentences)),
    )  # fmt: skip
    curves = Step(
        name="compare: clusters", items=[{"layer": layer} for layer in layers], worker=CurveMeasurer, unit="layers",
        outputs=file_of(PART, "curve", "layer"), amount=len(layers) * sum(clusters) * sample,
        args={"store": store, "files": embed.files, "clusters": clusters, "seed": seed},
    )  # fmt: skip
    yield [embed, curves]
    rows = pa.concat_tables(read_partials(store, curves.files))
    stage.write(PART, rows)
    figures = save_figures(store, "compare/figures/diversity", {"curves": diversity_figure(rows)}, args.facts.title)
    return {"rows": rows.num_rows, "embedded": len(sentences), "pool": args.scoring.pool, "figures": figures}


def check_clusters(clusters: Sequence[int], distinct: Sequence[int]) -> None:
    """Print the numbers of clusters that are skipped because a layer has fewer distinct winners."""
    if clusters[0] > max(distinct):
        raise InputError(
            f"--diversity-clusters {clusters[0]}: no layer has more than {counted(max(distinct), 'sentence')} "
            "among the drawn winners; give a smaller number"
        )
    if beyond := [str(number) for number in clusters if number > min(distinct)]:
        print(
            f"compare/diversity: {', '.join(beyond)} clusters are skipped for layers with fewer sentences among the "
            f"drawn winners (fewest: {min(distinct):,})",
            file=sys.stderr,
        )


def draw_sentences(item: Item, store: Store, sentences: int, sample: int, seed: int) -> pa.Table:
    """Draw sentences from a layer's winners (layer 0: from the corpus), with the count of each."""
    layer = item["layer"]
    return draw_winners(store, layer, sample, seed) if layer else draw_uniform(store, sentences, sample, seed)


class EmbeddingWorker:
    """Embeds the chosen sentences of shards, as the last layer's [CLS] state or, without [CLS], as the mean."""

    def __init__(self, args: ModelArgs, kept: KeptTokens | None) -> None:
        self.embedder = Embedder(args.facts, args.scoring, args.placement.token_budget)
        self.tokens = CorpusTokens(args.store, kept, lambda: self.embedder.tokenizer)

    def __call__(self, item: Item) -> pa.Table:
        """Embed the chosen sentences of one shard."""
        return self.embedder.embed(self.tokens, item["shard"], np.array(item["sent_ids"], np.int64))


class CurveMeasurer:
    """Measures the curves of layers; memory holds the vectors of all drawn sentences, from these files."""

    def __init__(self, store: Store, files: list[Output], clusters: tuple[int, ...], seed: int) -> None:
        self.store, self.clusters, self.seed = store, clusters, seed
        self.vectors = SentenceVectors(read_partials(store, files))

    def __call__(self, item: Item) -> pa.Table:
        """Measure the curve of one layer."""
        layer = item["layer"]
        points, times = self.vectors.of(read_partial(self.store, drawn_file(layer)))
        uniform, _ = self.vectors.of(read_partial(self.store, drawn_file(0)))
        count = min(len(points), len(uniform))
        return curve_rows(layer, points[:count], uniform[:count], times[:count], self.clusters, self.seed)
