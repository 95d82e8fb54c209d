"""Find which token fires: the first winners of every neuron token by token, and the words at which they peak.

    python -m jobs.tokens --out runs/docs
    ray job submit --working-dir . -- python -m jobs.tokens --out s3://bucket/run --top 50 --gpus 8

Writes token_activations/ and peaks/. Needs topk/ (jobs.topk) and sentences/ (jobs.annotate), and the model of the run;
each sentence goes through it once. Site, pooling and arithmetic are those of topk.

Expect: 1.10 times the processor time of the forward pass over these sentences (`python -m bench tokens`, 250 of them,
November 2026, one core shared with others), the start of the workers aside.
"""

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

    heading: ClassVar[tuple[int, str]] = (55, "tokens: which token fires")

    top: int = Field(20, ge=1, description="winners of each neuron and pole that are read token by token")


class TokensConfig(TokenOptions):
    """Options of `tokens`."""

    model: str = Field("", description="the model of topk, where it lies elsewhere now; none given: as topk had it")


def do(config: TokensConfig, record: "Run") -> None:
    """Do the stage, or what is missing of it."""
    from jobs.stage.dictionaries import dictionaries_of
    from jobs.stage.placement import choose_placement
    from jobs.stage.runner import StageSpec, run_stage
    from jobs.tokens.steps import plan, read_winners

    record.require("ingest")
    topk = record.require("topk")
    record.require("annotate")
    facts = find_model(config.model, topk)
    dictionaries_of(topk, facts)
    place = choose_placement(config, record, "tokens")
    spec = StageSpec(
        "tokens",
        {"top": config.top, **place.identity},
        partial(read_winners, config, facts, place),
        partial(plan, config, facts, place),
        ("winners", "winners token by token"),
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
        raise InputError(f"--model {name or own}: is not the model whose neurons topk/ has ({own}); name that one")
    return facts


JOB = Job("tokens", TokensConfig, in_run(do), __doc__)
