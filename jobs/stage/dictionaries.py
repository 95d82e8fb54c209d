"""The sparse dictionaries of a finished run, for stages that compute its activations again."""

from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

from jobs.run_folder.again import command
from jobs.run_folder.run import RunReader
from jobs.stage.scored import StageArgs
from ops.dictionaries.description import FLAG, Description
from ops.dictionaries.read import describe_all
from ops.errors import InputError
from ops.model.activations import ScoreOptions, Scorer
from ops.model.direction import is_decoder
from ops.model.load import ModelFacts


@dataclass(frozen=True, kw_only=True)
class ScorerArgs(StageArgs):
    """The arguments of workers that score neurons, or features of sparse dictionaries.

    Attributes:
        dictionaries, block: the sparse dictionaries whose features are the units, and the number of features encoded at
            a time (None if it depends on memory).
    """

    facts: ModelFacts
    options: ScoreOptions
    dictionaries: tuple[Description, ...] = ()
    block: int | None = None

    def scorer(self, pad_id: int) -> Scorer:
        """Return the scorer, with the model loaded; a plain model loads no code of dictionaries."""
        if not self.dictionaries:
            return Scorer(self.facts, self.options, pad_id)
        of_features: type[Scorer] = resolve_name("ops.dictionaries.scorer:DictionaryScorer")
        return of_features(self.facts, self.options, pad_id, self.dictionaries, self.block)  # type: ignore[call-arg]


def dictionaries_of(run: RunReader, facts: ModelFacts) -> tuple[Description, ...]:
    """Return the sparse dictionaries whose features are the units of a run; an empty tuple if its units are neurons.

    Raises:
        InputError: a dictionary is missing, or has changed since `topk` ran.
    """
    topk = run.require("topk")
    if "dictionaries" not in topk["identity"]:
        return ()
    dictionaries = describe_all(topk["config"]["dictionary"], facts)
    for dictionary in dictionaries:
        if topk["identity"]["dictionaries"].get(str(dictionary.layer)) != dictionary.fingerprint:
            raise InputError(
                f"{FLAG} {dictionary.layer}={dictionary.asked.path}: has changed since topk/ was made; restore it, "
                "or run",
                command(run.store.uri, "topk", topk["config"], redo=True),
            )
    is_decoder(facts)  # tried here, because workers receive the answer with the facts
    return dictionaries


def block_of(topk: dict[str, Any]) -> int | None:
    """Return how many features a run encodes at a time; None if the number depends on the free memory."""
    block = topk["config"].get("feature_block", "auto")
    return None if block == "auto" else int(block)
