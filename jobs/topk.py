"""Find every neuron's most activating sentences in one pass over the corpus.

    python -m jobs.topk --out runs/docs --preset small --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.topk --out s3://bucket/run --preset paper --model bert-base-uncased

Writes topk/, neurons/, activations/ and unscored/. With --corpus it reads the sources first (jobs.ingest).

What to expect (two cores, float32, November 2026): 0.98 of the speed of the model's forward pass alone, merge and
tables included (`python -m bench end_to_end`), which for the packaged model is 190 sentences a second with AVX2 and 360
with AVX-512; 11 s to start.
"""

import sys
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from jobs import ingest
from jobs.stage.command_line import main
from jobs.stage.options import CorpusPassConfig

if TYPE_CHECKING:
    from jobs.stage.run import Run
    from ops.model.load import ModelFacts
    from ops.model.tokenizer import Tokenizer

ATTEMPTS = 3  # at a shard whose partial file turns out damaged
LEAST_SENTENCES = 20  # to one winner, or a warning is due


class TopkConfig(CorpusPassConfig):
    """Options of `topk`, and those of `ingest` for when --corpus is given."""

    heading: ClassVar[tuple[int, str]] = (30, "topk: the most activating sentences")

    k: int = Field(100, ge=1, description="sentences kept for each neuron and pole")
    poles: Literal["top", "bottom", "both"] = Field("both", description="highest activations, lowest, or both")
    site: Literal["hidden", "mlp", "attention"] = Field(
        "hidden", description="hidden states, after the activation function, or after the attention's output matrix"
    )
    pool: Literal["mean", "max", "cls", "last"] = Field("mean", description="how a sentence's tokens become one value")
    special_tokens: Literal["include", "exclude"] = Field(
        "include", description="whether the tokens that the tokenizer added count"
    )
    activation_sample: int = Field(10_000, ge=0, description="sentences whose whole activation vectors are kept")
    no_sharing: bool = Field(False, description="workers do not share thresholds: same results, larger partial files")
    pilot: int = Field(4_096, ge=1, description="most sentences of the pilot that fixes the histograms' edges")


def run(config: TopkConfig) -> None:
    """Do the stage, or what is missing of it; first `ingest` where sources are named."""
    from jobs.stage.dry_run import open_run

    with open_run(config) as record:
        facts, tokenizer = prepare(config, record)
        ingest.do_where_named(config, record)
        do(config, record, facts, tokenizer)


def prepare(config: TopkConfig, record: "Run") -> "tuple[ModelFacts, Tokenizer]":
    """Check options, sources and model, cheapest first, and return what is known of the model, and its tokenizer.

    Raises:
        InputError: something is missing or does not fit.
    """
    from jobs.stage.checks import check_pass
    from ops.model.pooling import check_pool

    facts, tokenizer = check_pass(config, record)
    check_pool(config.pool, config.special_tokens, config.model, facts.decoder, tokenizer.has_cls)
    return facts, tokenizer


def warn_of_many(k: int, sentences: int) -> None:
    """Say where so many winners are so large a part of the corpus that they differ little from the rest."""
    from ops.errors import counted

    if k * LEAST_SENTENCES > sentences:
        few = f"--k {k:,} is more than one in {LEAST_SENTENCES} of the {counted(sentences, 'sentence')}"
        print(f"topk: {few}, so that winners differ little from the rest; a smaller --k tells more", file=sys.stderr)


def do(config: TopkConfig, record: "Run", facts: "ModelFacts", tokenizer: "Tokenizer") -> None:
    """Score all shards, merge them and write the tables."""
    from dataclasses import replace

    from jobs.stage.corpus_pass import begin_pass, describe
    from jobs.stage.dry_run import DryRun
    from jobs.stage.layout import shard_file
    from jobs.steps.topk.merge import merge_ranges
    from jobs.steps.topk.pilot import ScoreArgs, pilot_step, read_equal_lengths, read_widths
    from jobs.steps.topk.score import score_shards
    from jobs.steps.topk.sentences import account, read_notes, write_activations, write_unscored
    from ops.model.activations import ScoreOptions, Scorer
    from ops.sampling import ACTIVATIONS, draw
    from ops.topk.neurons import Neurons
    from ops.topk.room import check_room
    from ops.topk.times import Times

    times = Times()
    names = ("k", "poles", "site", "pool", "special_tokens", "activation_sample", "pilot")
    job = begin_pass("topk", config, record, facts, tokenizer, {name: getattr(config, name) for name in names})
    if job is None:
        return
    store, shards, place = job.stage.store, job.shards, job.placement
    scoring = ScoreOptions(config.site, config.pool, config.special_tokens, place.device, config.dtype, config.threads)
    poles = ("top", "bottom") if config.poles == "both" else (config.poles,)
    k = min(config.k, shards.sentences)
    warn_of_many(k, shards.sentences)
    args = ScoreArgs(store, facts, scoring, k, poles, place.token_budget, job.stage.fingerprint, not config.no_sharing)
    Scorer(facts, scoring._replace(device="cpu", dtype="float32"))
    count = facts.layers * facts.width * (4 if config.site == "mlp" else 1)
    check_room(store, count, config.k, len(poles), config.activation_sample, shards)

    pilot = pilot_step(job, args, config.pilot)
    if isinstance(record, DryRun):
        from jobs.plans.topk import plan_topk

        plan_topk(record, job, args, pilot, config.activation_sample, tokenizer)
        return
    if missing := job.stage.missing(pilot):
        print("topk: scoring a pilot for the histograms' edges", file=sys.stderr)
        with times.of("pilot"):
            job.stage.do(pilot, todo=missing)
    args = replace(args, equal_lengths=read_equal_lengths(store))
    if args.equal_lengths:
        print(f"topk: padding changes what a {facts.model_type} computes: batches of equal length", file=sys.stderr)
    neurons = Neurons(read_widths(store))
    sampled = shards.split(draw(shards.sentences, config.activation_sample, config.seed, ACTIVATIONS))
    for attempt in range(1, ATTEMPTS + 1):
        times.count(score_shards(job, args, sampled))
        with times.of("merge"):
            notes = read_notes(store, len(shards))
            unscored = write_unscored(store, notes, job.stage.fingerprint)
            counts = account(job.corpus["counts"], unscored)
            damaged = merge_ranges(job, neurons, k, poles, notes)
            if not damaged:
                counts["activation_sample"], damaged = write_activations(store, neurons, notes, job.stage.fingerprint)
        if not damaged:
            break
        if attempt == ATTEMPTS:
            raise RuntimeError(f"topk: {sorted(damaged)} came out damaged {ATTEMPTS} times; check the disk of --out")
        for shard, why in sorted(damaged.items()):
            path = shard_file("topk", shard).path
            print(f"topk: {path} is damaged ({why}): scoring it again", file=sys.stderr)
            store.delete(path)
    counts |= {"neurons": len(neurons), "layers": len(neurons.widths), "seconds": times.result()}
    counts |= {"equal_lengths": args.equal_lengths}
    print(f"topk: {times}", file=sys.stderr)
    job.stage.finish(counts, {"model": describe(facts)})


if __name__ == "__main__":
    sys.exit(main(TopkConfig, "topk", str(__doc__).splitlines()[0], run))
