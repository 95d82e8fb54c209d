"""Code that the parts of `compare` share: beginning a part, workers that run a model, and drawing figures again."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jobs.compare.job import CompareConfig
from jobs.run_folder.run import Run
from jobs.stage.costs import PASSES
from jobs.stage.model_time import model_step
from jobs.stage.placement import Placement
from jobs.stage.runner import Stage, begin_stage
from jobs.stage.scored import Scored, StageArgs
from jobs.stage.step import Step
from ops.model.activations import ScoreOptions
from ops.model.load import ModelFacts
from ops.storage.store import Store


@dataclass(frozen=True, kw_only=True)
class ModelArgs(StageArgs):
    """The arguments of workers that run a model on sentences."""

    facts: ModelFacts
    scoring: ScoreOptions
    placement: Placement

    @classmethod
    def of(
        cls, config: CompareConfig, stage: Stage, facts: ModelFacts, scoring: ScoreOptions, placement: Placement
    ) -> "ModelArgs":
        """Return the arguments for a part that has begun."""
        return cls(
            store=stage.store, neurons=Scored.of(stage.run).neurons, seed=config.seed, facts=facts, scoring=scoring,
            placement=placement,
        )  # fmt: skip

    def model_step(self, part: str, sentences: int, **attributes: Any) -> Step:
        """Return a step of a part whose workers run the model; `sentences` is how often they read one in all."""
        return model_step(self.facts, self.placement, self.scoring.dtype, sentences, PASSES[part], **attributes)


def begin_part(
    part: str, config: CompareConfig, run: Run, depends_on: dict[str, Any], about: dict[str, Any] | None = None
) -> Stage | None:
    """Start or resume a part, whose results also depend on the seed; `begin_stage` explains arguments and result."""
    depends_on = {**depends_on, "seed": config.seed}
    return begin_stage(f"compare/{part}", config, run, depends_on, counted=("rows", "rows"), about=about)


def redraw(
    part: str, option: str, config: CompareConfig, run: Run, draw: Callable[[CompareConfig, Run, Store], list[str]]
) -> None:
    """Draw the figures of a finished part again if an option that only they depend on has changed."""
    entry, value = run.require(f"compare/{part}"), getattr(config, option)
    if config.dry_run or entry["config"][option] == value:
        return
    names = draw(config, run, run.store)
    entry["config"][option] = value
    run.add_files(f"compare/{part}", f"compare/figures/{part}", names)
    print(f"compare/{part}: redrawn with {option} {value}", file=sys.stderr)
