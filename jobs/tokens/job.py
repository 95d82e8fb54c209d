"""Find which tokens activate each neuron, by reading its first winners token by token.

    python -m jobs.tokens --out runs/docs
    ray job submit --working-dir . -- python -m jobs.tokens --out s3://bucket/run --top 50 --gpus 8

Writes token_activations/ and peaks/. Needs topk/ (jobs.topk), sentences/ (jobs.annotate) and the model of the run,
which reads each sentence once. Site, pooling and arithmetic are the same as in topk. Once jobs.explain has chosen hard
negatives, this job also reads them and writes negative_tokens/.

What to expect: 1.10 times the processor time of the forward pass over these sentences, without the start of the workers
(`python -m bench tokens` with 250 sentences, one core shared with other work, November 2026).
"""

import sys
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from jobs.stage.command_line import Job, in_run
from jobs.stage.options import ModelPassConfig

if TYPE_CHECKING:
    from jobs.stage.run import Run
    from ops.model.load import ModelFacts


class TokenOptions(ModelPassConfig):
    """Options of `tokens` that `run` also has."""

    heading: ClassVar[tuple[int, str]] = (55, "Activations by token (tokens)")

    top: int = Field(20, ge=1, description="Read this many winners per neuron and pole token by token")


class TokensConfig(TokenOptions):
    """Options of `tokens`."""

    model: str = Field("", description="New place of the model of topk, if it has moved (default: where topk found it)")


NEGATIVES = "tokens/negatives"


def do(config: TokensConfig, record: "Run") -> None:
    """Do the missing work of both stages."""
    do_winners(config, record)
    do_negatives(config, record)


def do_winners(config: TokensConfig, record: "Run") -> None:
    """Read the first winners, or the missing part of them."""
    _do(config, record, "tokens", {"top": config.top}, ("winners", "winners token by token"))


def do_negatives(config: TokensConfig, record: "Run") -> None:
    """Read the hard negatives, or the missing part of them; do nothing if `explain` has not chosen any."""
    from jobs.stage.again import command
    from jobs.stage.stages import STAGES

    explained = record.stage("explain") if record.complete("explain") else None
    if explained is None:
        return
    if explained["identity"].get("method", 1) != STAGES["explain"].method:
        print(
            "tokens: explain was run by another version of this program, which chose no hard negatives; to choose "
            f"them, run {command(config.out, 'explain', explained['config'], redo=True)}",
            file=sys.stderr,
        )
        return
    _do(config, record, NEGATIVES, {}, ("negatives", "hard negatives token by token"))


def _do(config: TokensConfig, record: "Run", stage: str, depends_on: dict[str, Any], counted: tuple[str, str]) -> None:
    """Run one of the stages, or the missing part of it."""
    from jobs.stage.dictionaries import dictionaries_of
    from jobs.stage.placement import choose_placement
    from jobs.stage.runner import StageSpec, run_stage
    from jobs.tokens.steps import plan, read_sentences

    record.require("ingest")
    topk = record.require("topk")
    record.require("annotate")
    facts = find_model(config.model, topk)
    dictionaries_of(topk, facts)
    place = choose_placement(config, record, stage)
    spec = StageSpec(
        stage,
        {**depends_on, **place.identity},
        partial(read_sentences, config, facts, place),
        partial(plan, config, facts, place),
        counted,
        config.model_dump(mode="json") | {"device": place.device, "token_budget": place.token_budget},
    )
    run_stage(spec, config, record)


def find_model(name: str, topk: dict[str, Any]) -> "ModelFacts":
    """Return the facts of the model of a run.

    Raises:
        InputError: the model is not found, or is not the model of the run.
    """
    from jobs.stage.checks import recorded_model
    from ops.errors import InputError

    own = topk["config"]["model"]
    facts = recorded_model(topk, name)
    if facts.fingerprint != topk["identity"]["model"]:
        raise InputError(f"--model {name or own}: is not the model of topk/ ({own}); name that one")
    return facts


JOB = Job("tokens", TokensConfig, in_run(do), __doc__)
