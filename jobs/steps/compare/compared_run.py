"""What the parts of `compare` share: the run's neurons and model, the life of a part, the options in it."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.stage.compare_config import CompareConfig
from jobs.stage.run import Run
from jobs.stage.runner import Stage, Step, begin
from ops.errors import InputError
from ops.model.load import ModelFacts, model_title, read_facts
from ops.topk.neurons import Neurons, layer_widths


@dataclass(frozen=True)
class PartWork:
    """A part that is begun: what is to be done, and what that would take.

    Attributes:
        stage: the stage under way.
        do: does all of it, and finishes the stage.
        steps: its steps, as far as they are known before the first is done, each with the seconds that one of its
            items takes a worker, about.
        kept: bytes of the tables and figures, about.
        more: what comes besides, in words.
        more_seconds: what that takes a worker, about; None where it cannot be known.
    """

    stage: Stage
    do: Callable[[], None]
    steps: Sequence[tuple[Step, float]]
    kept: int
    more: Sequence[str] = ()
    more_seconds: float | None = 0.0


def begin_part(part: str, config: CompareConfig, record: Run, identity: dict[str, Any]) -> Stage | None:
    """Begin a part or go on with it; return None, and say so, where it was done before.

    Args:
        part: its name without `compare/`.
        config: the options.
        record: the run.
        identity: what the part's results depend on, the seed aside.
    """
    options = config.model_dump(mode="json")
    return begin(f"compare/{part}", config, record, {**identity, "seed": config.seed}, options, ("rows", "rows"))


def redraw(part: str, option: str, config: CompareConfig, record: Run, draw: Callable[[], list[str]]) -> None:
    """Draw the figures of a finished part again where an option that they alone depend on has changed."""
    entry, wanted = record.require(f"compare/{part}"), getattr(config, option)
    if config.dry_run or entry["config"][option] == wanted:
        return
    names = draw()
    entry["config"][option] = wanted
    record.add_files(f"compare/{part}", f"compare/figures/{part}", names)
    print(f"compare/{part}: drawn again with {option} {wanted}", file=sys.stderr)


def neurons_of(record: Run) -> Neurons:
    """Return the neurons of a run, from `activations/`."""
    return Neurons(layer_widths(record.store))


def title_of(record: Run) -> str:
    """Return what figures call the run's model."""
    topk = record.require("topk")
    return model_title(topk["config"]["model"], topk["identity"]["model"])


def model_of(record: Run) -> ModelFacts:
    """Return the model whose neurons a run's tables are of.

    Raises:
        InputError: it is not there any more, or has become another.
    """
    topk = record.require("topk")
    facts = read_facts(topk["config"]["model"])
    if facts.fingerprint != topk["identity"]["model"]:
        raise InputError(
            f"--out {record.store.uri}: was made with another model than {facts.name} is now; "
            "put that one back, or run python -m jobs.topk --redo"
        )
    return facts


def figure_units(text: str) -> tuple[int, int]:
    """Read FIRST:LAST, both included.

    Raises:
        InputError: it is something else.
    """
    first, colon, last = text.partition(":")
    if not (colon and first.isdecimal() and last.isdecimal() and len(last) < 9 and int(first) <= int(last)):
        raise InputError(f"--figure-units {text!r}: expected FIRST:LAST, such as 301:350")
    return int(first), int(last)
