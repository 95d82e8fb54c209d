"""What `--dictionary` changes: the defaults of other options, what results depend on, and what is said of the pilot."""

import sys
from collections.abc import Sequence
from typing import Any

from jobs.topk.job import TopkConfig
from ops.dictionaries.description import FLAG, Description
from ops.dictionaries.reconstruction import LEAST
from ops.errors import InputError

SITE = "dictionary"  # in the place of a site, for run.json


def check_options(config: TopkConfig) -> None:
    """Refuse options that no dictionary takes.

    Raises:
        InputError: one was given.
    """
    if "site" in config.model_fields_set:
        raise InputError(f"--site {config.site}: a dictionary determines what it reads; leave out --site or {FLAG}")
    if config.pool == "cls":
        raise InputError(f"--pool cls: features are pooled over tokens; use max, mean or last with {FLAG}")


def options_of(config: TopkConfig, dictionaries: Sequence[Description], decoder: bool) -> dict[str, Any]:
    """Return the options whose defaults follow from the dictionaries, where they were not given.

    Raises:
        InputError: sparse features, which have one pole, are asked for another.
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


def identity_of(dictionaries: Sequence[Description]) -> dict[str, Any]:
    """Return what the results depend on in addition to the options: the dictionaries, identified by content."""
    if not dictionaries:
        return {}
    return {"site": SITE, "dictionaries": {str(own.layer): own.fingerprint for own in dictionaries}}


def report_pilot(dictionaries: Sequence[Description], explained: Sequence[float | None]) -> list[dict[str, Any]]:
    """Print how well each dictionary reconstructs what it reads, and return what run.json says of them.

    Args:
        dictionaries: by layer.
        explained: the share of explained variance of each; None where it has no decoder.
    """
    said = []
    for own, share in zip(dictionaries, explained, strict=True):
        print(f"topk: {own}", file=sys.stderr)
        if share is not None:
            print(f"topk: its reconstruction explains {share:.3f} of the variance of {own.target}", file=sys.stderr)
        if share is not None and share < LEAST:
            print(
                f"topk: warning: {own.asked.path} explains less than {LEAST}, so it does not seem to belong to this "
                "model, layer or site; check what it was trained on",
                file=sys.stderr,
            )
        said.append(own.said() | {"explained_variance": None if share is None else round(share, 6)})
    return said
