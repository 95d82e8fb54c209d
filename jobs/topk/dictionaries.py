"""What `--dictionary` changes: defaults of other options, what results depend on, and the report on the pilot."""

from collections.abc import Callable, Sequence
from typing import Any

from jobs.topk.job import TopkConfig
from ops.dictionaries.description import FLAG, Description
from ops.dictionaries.reconstruction import LEAST
from ops.errors import InputError
from ops.topk.room import MOST_ACTIVE

SITE = "dictionary"  # the value of `site` in run.json


def check_options(config: TopkConfig) -> None:
    """Refuse options that cannot be combined with a sparse dictionary."""
    if "site" in config.model_fields_set:
        raise InputError(f"--site {config.site}: a dictionary determines what it reads; leave out --site or {FLAG}")
    if config.pool == "cls":
        raise InputError(f"--pool cls: features are pooled over tokens; use max, mean or last with {FLAG}")


def options_of(config: TopkConfig, dictionaries: Sequence[Description], decoder: bool) -> dict[str, Any]:
    """Return the options that were not given and whose defaults depend on the sparse dictionaries.

    Raises:
        InputError: another pole than the top was requested for sparse features, which are never negative.
    """
    chosen: dict[str, Any] = {}
    given = config.model_fields_set
    if dictionaries[0].sparse:
        if "poles" in given and config.poles != "top":
            raise InputError(
                f"--poles {config.poles}: features of {dictionaries[0].asked.path} are never below 0; use top"
            )
        chosen["poles"] = "top"
        if "pool" not in given:
            chosen["pool"] = "max"
    if decoder and "special_tokens" not in given:
        chosen["special_tokens"] = "exclude"
    return chosen


def values_of_sample(units: int, dictionaries: Sequence[Description]) -> int:
    """Return the maximum number of 4-byte values that the activation sample keeps for a sentence.

    Sparse features are stored with their indices.
    """
    return 2 * min(units, MOST_ACTIVE) if dictionaries and dictionaries[0].sparse else units


def report_pilot(
    dictionaries: Sequence[Description], explained: Sequence[float | None], say: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Say how well each sparse dictionary reconstructs its input, and return their entries for run.json.

    Args:
        explained: the share of variance that each sparse dictionary explains; None if it has no decoder.
    """
    entries = []
    for dictionary, share in zip(dictionaries, explained, strict=True):
        say(str(dictionary))
        if share is not None:
            say(f"its reconstruction explains {share:.3f} of the variance of {dictionary.target}")
        if share is not None and share < LEAST:
            say(
                f"warning: {dictionary.asked.path} explains less than {LEAST}, so it does not seem to belong to this "
                "model, layer or site; check what it was trained on"
            )
        entries.append(dictionary.said() | {"explained_variance": None if share is None else round(share, 6)})
    return entries
