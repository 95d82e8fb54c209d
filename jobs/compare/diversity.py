"""The part `diversity` of `compare`: are the winners of a layer more similar to each other than random sentences?"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from jobs.compare.job import CompareConfig
from jobs.compare.parts import ModelArgs, begin_part
from jobs.engine.item import Item
from jobs.run_folder.run import Run
from jobs.stage.checks import model_of_topk
from jobs.stage.corpus_pass import describe, kept_tokens
from jobs.stage.outputs import Output, partial_file, read_partial, read_partials, shard_file, whole_table
from jobs.stage.placement import choose_placement
from jobs.stage.runner import Stage
from jobs.stage.scored import Scored
from jobs.stage.step import Made, Step, Steps
from ops.compare.diversity import curve_rows, draw_uniform, draw_winners
from ops.compare.diversity_figures import draw_curves
from ops.compare.winner_vectors import Embedder, SentenceVectors
from ops.corpus.corpus_tokens import CorpusTokens, KeptTokens
from ops.errors import InputError, counted
from ops.model.activations import ScoreOptions
from ops.model.direction import is_decoder
from ops.model.tokenizer import Tokenizer
from ops.shards import Shards

PART = "compare/diversity"
# For each layer: the sentences drawn from its winners (layer 0: from the complete corpus), and the sums of squares for
# each number of clusters.
drawn_file, curve_file = partial(partial_file, PART, "drawn"), partial(partial_file, PART, "curve")


@dataclass(frozen=True, kw_only=True)
class DiversityArgs(ModelArgs):
    """The arguments of the workers.

    Attributes:
        shards: the shards of the corpus.
        kept: where ingest stored the tokens of corpus/; None if they were not stored.
        clusters: the numbers of clusters, ascending.
        sample: the number of winners that are drawn in each layer.
    """

    shards: Shards
    kept: KeptTokens | None
    clusters: tuple[int, ...]
    sample: int


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
    neurons, shards = Scored.of(run).neurons, run.shards()
    args = DiversityArgs(
        store=stage.store, neurons=neurons, seed=config.seed, facts=facts,
        scoring=ScoreOptions("hidden", pool, "include", placement.device, config.dtype, placement.threads or 1),
        placement=placement, shards=shards, kept=kept_tokens(run), clusters=clusters, sample=config.diversity_sample,
    )  # fmt: skip
    layers = len(neurons.widths)
    most = min(args.sample * (layers + 1), shards.sentences)
    notes = [f"then embed at most {most:,} sentences that were drawn, each once, and cluster them"]
    stage.complete(diversity_steps(args, stage), {PART: layers * len(clusters)}, notes=notes)


def diversity_steps(args: DiversityArgs, stage: Stage) -> Steps:
    """Draw, embed and cluster the winners, write the table and its figure, and return the counts."""
    store, given = stage.store, {"args": args}
    layers = range(1, len(args.neurons.widths) + 1)
    drawn = [{"layer": layer} for layer in (0, *layers)]
    yield [
        Step(
            name="compare: draw", items=drawn, outputs=lambda item: [drawn_file(item["layer"])], worker=draw_sentences,
            args=given, unit="layers", here=True,
        )
    ]  # fmt: skip
    draws = list(read_partials(store, [drawn_file(item["layer"]) for item in drawn]))
    check_clusters(args.clusters, [table.num_rows for table in draws[1:]])
    sentences = np.unique(np.concatenate([table["sent_id"].to_numpy() for table in draws]))
    shards = [
        {"shard": i, "sent_ids": ids.tolist(), "sentences": len(ids)}
        for i, ids in enumerate(args.shards.split(sentences))
        if len(ids)
    ]
    files = [shard_file(PART, item["shard"]) for item in shards]
    yield [
        args.model_step(
            PART, len(sentences), name="compare: embed", items=shards, worker=EmbeddingWorker,
            outputs=lambda item: [shard_file(PART, item["shard"])], unit="shards", work=("sentences", len(sentences)),
        ),
        Step(
            name="compare: clusters", items=[{"layer": layer} for layer in layers],
            outputs=lambda item: [curve_file(item["layer"])], worker=CurveMeasurer, args=given | {"files": files},
            unit="layers", amount=len(layers) * sum(args.clusters) * args.sample,
        ),
    ]  # fmt: skip
    rows = pa.concat_tables(read_partials(store, map(curve_file, layers)))
    whole_table(PART).commit(store, rows, stage.fingerprint)
    figures = draw_curves(store, rows, args.facts.title)
    return {"rows": rows.num_rows, "embedded": len(sentences), "pool": args.scoring.pool, "figures": figures}


def check_clusters(clusters: Sequence[int], distinct: Sequence[int]) -> None:
    """Print the numbers of clusters that are skipped because a layer has fewer distinct winners.

    Args:
        clusters: the numbers of clusters, ascending.
        distinct: the number of distinct sentences among the drawn winners of each layer.

    Raises:
        InputError: no number of clusters is left for any layer.
    """
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


def draw_sentences(item: Item, args: DiversityArgs) -> Made:
    """Draw sentences from a layer's winners (layer 0: from the corpus), with the count of each."""
    layer = item["layer"]
    if layer:
        return {drawn_file(layer): draw_winners(args.store, layer, args.sample, args.seed)}
    return {drawn_file(0): draw_uniform(args.store, args.shards.sentences, args.sample, args.seed)}


class EmbeddingWorker:
    """Embeds the chosen sentences of shards, as the last layer's [CLS] state or, without [CLS], as the mean."""

    def __init__(self, args: DiversityArgs) -> None:
        self.embedder = Embedder(args.facts, args.scoring, args.placement.token_budget)
        self.tokens = CorpusTokens(args.store, args.kept, lambda: self.embedder.tokenizer)

    def __call__(self, item: Item) -> Made:
        """Embed the chosen sentences of one shard."""
        sent_ids = np.array(item["sent_ids"], np.int64)
        return {shard_file(PART, item["shard"]): self.embedder.embed(self.tokens, item["shard"], sent_ids)}


class CurveMeasurer:
    """Measures the curves of layers; memory holds the vectors of all drawn sentences, from these files."""

    def __init__(self, args: DiversityArgs, files: list[Output]) -> None:
        self.args, self.vectors = args, SentenceVectors(read_partials(args.store, files))

    def __call__(self, item: Item) -> Made:
        """Measure the curve of one layer."""
        layer, args = item["layer"], self.args
        points, times = self.vectors.of(read_partial(args.store, drawn_file(layer)))
        uniform, _ = self.vectors.of(read_partial(args.store, drawn_file(0)))
        count = min(len(points), len(uniform))
        rows = curve_rows(layer, points[:count], uniform[:count], times[:count], args.clusters, args.seed)
        return {curve_file(layer): rows}
