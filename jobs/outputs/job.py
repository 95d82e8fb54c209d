"""Find the tokens that each unit promotes and suppresses through the model's own output head.

    python -m jobs.outputs --out runs/gpt2
    python -m jobs.outputs --out runs/gpt2 --check 200
    ray job submit --working-dir . -- python -m jobs.outputs --out s3://bucket/run --gpus 8

Writes outputs/tokens, outputs/neurons, outputs/controls, with --check outputs/checks, and a figure. Needs corpus/ and
topk/ (jobs.topk), and the model of the run: a decoder, or an encoder with a masked-word head. The head is approximated
as linear around the mean state of the corpus's tokens, and the layers between a unit and the head are ignored. The
control is random directions in each layer.
"""

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from jobs.stage.command_line import Job, in_run
from jobs.stage.options import PlacementConfig, UnitsConfig
from jobs.tokens.job import find_model

if TYPE_CHECKING:
    from jobs.stage.run import Run


class OutputsConfig(UnitsConfig, PlacementConfig):
    """Options of `outputs`."""

    heading: ClassVar[tuple[int, str]] = (55, "Promoted tokens (outputs)")

    sentences: int = Field(
        1_000, ge=1, description="Linearise the head around the mean state of this many sentences, a uniform sample"
    )
    random: int = Field(
        300, ge=19, description="Draw N random directions per layer as a control; the smallest p is 1/(N + 1)"
    )
    check: int = Field(
        0, ge=0, description="Raise this many units, drawn from all layers, by one standard deviation in real sentences"
    )
    check_sentences: int = Field(32, ge=1, description="Raise them in this many sentences of the corpus")


def do(config: OutputsConfig, record: "Run") -> None:
    """Run the stage, or the missing part of it."""
    from jobs.outputs.plan import plan
    from jobs.outputs.steps import measure, outputs_args, say_found
    from jobs.stage.dictionaries import dictionaries_of
    from jobs.stage.placement import choose_placement
    from jobs.stage.runner import StageSpec, run_stage
    from jobs.stage.units import chosen_units
    from ops.outputs.written import check_written

    record.require("ingest")
    topk = record.require("topk")
    facts = find_model("", topk)
    dictionaries = dictionaries_of(topk, facts)
    config = config.model_copy(update={"units": chosen_units(config, record, "put through the head")})
    place = choose_placement(config, record, "outputs")
    layers = tuple(own.layer for own in dictionaries) or tuple(range(1, facts.layers + 1))
    vocabulary = check_written(facts, topk["identity"]["site"], layers, dictionaries)
    names = ("sentences", "random", "check", "check_sentences", "seed")
    resolved = config.model_dump(mode="json")
    depends_on = {**{name: resolved[name] for name in (*names, "units")}, **place.identity}
    args = partial(outputs_args, config, facts, dictionaries, place)
    spec = StageSpec(
        "outputs",
        depends_on,
        lambda stage: measure(stage, args(stage)),
        lambda stage, dry_run: plan(stage, args(stage), vocabulary, dry_run),
        ("neurons", "units"),
        resolved | {"device": place.device, "token_budget": place.token_budget},
        say=say_found,
    )
    run_stage(spec, config, record)


JOB = Job("outputs", OutputsConfig, in_run(do), __doc__)
