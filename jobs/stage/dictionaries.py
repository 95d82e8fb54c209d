"""The sparse dictionaries of a finished run, for stages that compute its activations again."""

from typing import Any

from jobs.run_folder.again import command
from ops.dictionaries.description import FLAG, Description
from ops.dictionaries.read import describe_all
from ops.errors import InputError
from ops.model.direction import is_decoder
from ops.model.load import ModelFacts


def is_of_dictionaries(topk: dict[str, Any]) -> bool:
    """Tell whether a run's units are features of sparse dictionaries, from the entry of `topk` in run.json."""
    return "dictionaries" in topk["identity"]


def dictionaries_of(topk: dict[str, Any], facts: ModelFacts) -> tuple[Description, ...]:
    """Return the sparse dictionaries whose features are the units of a run; an empty tuple if its units are neurons.

    Args:
        topk: the entry of `topk` in run.json.
        facts: the run's model.

    Raises:
        InputError: a dictionary is missing, or has changed since `topk` ran.
    """
    if not is_of_dictionaries(topk):
        return ()
    found = describe_all(topk["config"]["dictionary"], facts)
    for own in found:
        if topk["identity"]["dictionaries"].get(str(own.layer)) != own.fingerprint:
            raise InputError(
                f"{FLAG} {own.layer}={own.asked.path}: has changed since topk/ was made; restore it, or run",
                command(topk["config"]["out"], "topk", topk["config"], redo=True),
            )
    is_decoder(facts)  # tried here, because workers receive the answer with the facts
    return found


def block_of(topk: dict[str, Any]) -> int | None:
    """Return how many features a run encodes at a time; None if the number depends on the free memory."""
    block = topk["config"].get("feature_block", "auto")
    return None if block == "auto" else int(block)
