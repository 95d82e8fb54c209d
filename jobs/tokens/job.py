"""Find which token fires: the first winners of every neuron token by token, and the words at which they peak.

    python -m jobs.tokens --out runs/docs
    ray job submit --working-dir . -- python -m jobs.tokens --out s3://bucket/run --top 50

Writes token_activations/ and peaks/. Needs topk/ (jobs.topk) and sentences/ (jobs.annotate), and the model of the run;
each sentence goes through it once. Site, pooling and arithmetic are those of topk.

Expect: 1.10 times the processor time of the forward pass over these sentences (`python -m bench tokens`, 250 of them,
November 2026, one core shared with others), the start of the workers aside.
"""

import sys
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from jobs.stage.command_line import main
from jobs.stage.options import ModelPassConfig

if TYPE_CHECKING:
    from jobs.stage.run import Run
    from ops.model.load import ModelFacts


class TokenOptions(ModelPassConfig):
    """Options of `tokens` that `run` has too."""

    heading: ClassVar[tuple[int, str]] = (55, "tokens: which token fires")

    top: int = Field(20, ge=1, description="winners of each neuron and pole that are read token by token")


class TokensConfig(TokenOptions):
    """Options of `tokens`."""

    model: str = Field("", description="the model of topk, where it lies elsewhere now; none given: as topk had it")


def run(config: TokensConfig) -> None:
    """Do the stage, or what is missing of it."""
    from jobs.stage.dry_run import open_run

    with open_run(config) as record:
        do(config, record)


def do(config: TokensConfig, record: "Run") -> None:
    """Do the stage, or what is missing of it, in an open run."""
    from jobs.stage.dry_run import DryRun
    from jobs.stage.placement import choose_placement
    from jobs.stage.runner import begin
    from jobs.steps.tokens.read import TokensArgs, read_notes, read_step, select_step
    from jobs.steps.tokens.write import write_step
    from ops.model.activations import ScoreOptions
    from ops.model.batches import batch_lengths
    from ops.shards import Shards
    from ops.topk.neurons import Neurons

    corpus, topk = record.require("ingest"), record.require("topk")
    record.require("annotate")
    facts = find_model(config.model, topk)
    place = choose_placement(config)
    identity = {"top": config.top, **place.identity}
    options = config.model_dump(mode="json") | {"device": place.device, "token_budget": place.token_budget}
    stage = begin("tokens", config, record, identity, options, ("winners", "winners token by token"))
    if stage is None:
        return
    made = topk["identity"]
    scoring = ScoreOptions(
        made["site"], made["pool"], made["special_tokens"], place.device, made["dtype"], place.threads or 1
    )
    shards = Shards(corpus["counts"]["sentences"], corpus["config"]["shard_size"])
    args = TokensArgs(
        stage.store, facts, scoring, Neurons(()), shards, config.top, place.token_budget,
        batch_lengths(place.device, topk["counts"].get("equal_lengths", True)), stage.fingerprint,
    )  # fmt: skip
    if isinstance(record, DryRun):
        from jobs.plans.tokens import plan_tokens

        plan_tokens(record, stage, args, place)
        return
    args = args.of_these_neurons()
    stage.do(select_step(args))
    read = read_step(args, place)
    stage.do(read)
    done = [item["piece"] for item in read.items]
    counts = read_notes(stage.store, done)
    stage.do(write_step(args, done, counts["winners"]))
    report(counts)
    stage.finish(counts)


def find_model(name: str, topk: dict[str, Any]) -> "ModelFacts":
    """Return what is known of the model of a run.

    Raises:
        InputError: it is not there, or is another.
    """
    from ops.errors import InputError
    from ops.model.load import read_facts

    own = topk["config"]["model"]
    facts = read_facts(name or own)
    if facts.fingerprint != topk["identity"]["model"]:
        raise InputError(f"--model {name or own}: is not the model whose neurons topk/ has ({own}); name that one")
    return facts


def report(counts: dict[str, Any]) -> None:
    """Say where the tokens' mean is not what `topk/` has."""
    if counts["activations_differ"]:
        print(
            f"tokens: {counts['activations_differ']:,} of {counts['winners']:,} winners pooled anew are not topk/'s "
            f"activation within 0.00001 (by up to {counts['largest_difference']:.2g}): other hardware or dtype",
            file=sys.stderr,
        )


if __name__ == "__main__":
    sys.exit(main(TokensConfig, "tokens", str(__doc__).splitlines()[0], run))
