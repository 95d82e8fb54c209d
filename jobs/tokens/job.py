"""Find which token fires: read the first winners of every neuron token by token.

    python -m jobs.tokens --out runs/docs
    ray job submit --working-dir . -- python -m jobs.tokens --out s3://bucket/run --top 50 --gpus 8

Writes token_activations/ and peaks/. Needs topk/ (jobs.topk) and sentences/ (jobs.annotate), and the model of the run;
each sentence goes through it once. Site, pooling and arithmetic are those of topk. Once jobs.explain has chosen hard
negatives, this job also reads those and writes negative_tokens/.

Expect: 1.10 times the processor time of the forward pass over these sentences (`python -m bench tokens`, 250 of them,
November 2026, one core shared with others), the start of the workers aside.
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
    """Options of `tokens` that `run` has too."""

    heading: ClassVar[tuple[int, str]] = (55, "Activations by token (tokens)")

    top: int = Field(20, ge=1, description="Read this many winners per neuron and pole token by token")


class TokensConfig(TokenOptions):
    """Options of `tokens`."""

    model: str = Field("", description="New place of the model of topk, if it has moved (default: where topk found it)")


NEGATIVES = "tokens/negatives"


def do(config: TokensConfig, record: "Run") -> None:
    """Do what is missing of both stages."""
    do_winners(config, record)
    do_negatives(config, record)


def do_winners(config: TokensConfig, record: "Run") -> None:
    """Read the first winners, or what is missing of them."""
    _do(config, record, "tokens", {"top": config.top}, ("winners", "winners token by token"))


def do_negatives(config: TokensConfig, record: "Run") -> None:
    """Read the hard negatives, or what is missing of them; nothing without a stage `explain` that chose them."""
    from jobs.stage.stages import STAGES

    explained = record.stage("explain") if record.complete("explain") else None
    if explained is None:
        return
    if explained["identity"].get("method", 1) != STAGES["explain"].method:
        print(
            "tokens: explain was run by another version of this program, which chose no hard negatives; "
            "jobs.explain --redo chooses them",
            file=sys.stderr,
        )
        return
    _do(config, record, NEGATIVES, {}, ("negatives", "hard negatives token by token"))


def _do(config: TokensConfig, record: "Run", stage: str, depends_on: dict[str, Any], counted: tuple[str, str]) -> None:
    """Do one of the stages, or what is missing of it."""
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
    """Return what is known of the model of a run.

    Raises:
        InputError: it is not there, or is another.
    """
    from jobs.stage.checks import recorded_model
    from ops.errors import InputError

    own = topk["config"]["model"]
    facts = recorded_model(topk, name)
    if facts.fingerprint != topk["identity"]["model"]:
        raise InputError(f"--model {name or own}: is not the model of topk/ ({own}); name that one")
    return facts


JOB = Job("tokens", TokensConfig, in_run(do), __doc__)
