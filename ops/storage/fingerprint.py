"""Fingerprints: one short name for everything that a result depends on."""

import hashlib
import json
import re
from typing import Any

# The options that decide a part of an identity of another name. The tokenizer belongs to the model.
_OPTIONS = {"tokenizer": "model", "dictionaries": "dictionary", "against_run": "against"}
_FINGERPRINT = re.compile(r"\b[0-9a-f]{32,}\b")
_OTHER = "other contents"


def fingerprint(identity: dict[str, Any]) -> str:
    """Return the sha256, as 64 hexadecimal digits, of a JSON-able mapping; the order of its keys does not matter."""
    text = json.dumps(identity, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def differences(
    was: dict[str, Any],
    now: dict[str, Any],
    chosen_was: dict[str, Any] | None = None,
    chosen: dict[str, Any] | None = None,
) -> str:
    """Return a description of every key in which two identities differ; it is empty if they are the same.

    A key of only one of them, although its option is the same, follows from another key and is left out.

    Args:
        chosen_was, chosen: the previous and the current options, which name the files that an identity stores as
            hashes.

    >>> differences({"k": 10, "seed": 0}, {"k": 5, "seed": 0})
    'k (was 10, is 5)'
    >>> differences({"model": "9a4b"}, {"model": "77d0"}, {"model": "sample"}, {"model": "gpt2"})
    'model (was sample, is gpt2)'
    >>> random = {"model": "random:sample"}
    >>> differences({"model": "9a4b"}, {"model": "77d0"}, random, {**random, "model_seed": 1})
    'model (was random:sample, is random:sample with --model-seed 1)'
    >>> differences({"corpus": ["9a4b"]}, {"corpus": ["77d0"]}, {"corpus": ["a.txt"]}, {"corpus": ["a.txt"]})
    'corpus (a.txt has changed)'
    >>> differences({"topk stage": "9a4b" * 16}, {"topk stage": "77d0" * 16})
    'topk stage (has changed)'
    >>> differences({"by": ["author"]}, {"by": [], "device": "cpu"}, {"device": "auto"}, {"device": "auto"})
    'by (was author, is not given)'
    """
    descriptions: list[str] = []
    following: list[str] = []
    for key in sorted(k for k in was.keys() | now.keys() if was.get(k) != now.get(k)):
        option = _OPTIONS.get(key, key)
        one, other = (
            _chosen(given or {}, option, values.get(key)) for given, values in ((chosen_was, was), (chosen, now))
        )
        changed = f"{one} has changed".strip() if one == other else f"was {one or _OTHER}, is {other or _OTHER}"
        follows = one == other and (key in was) != (key in now)
        (following if follows else descriptions).append(f"{key if key == 'tokenizer' else option} ({changed})")
    return ", ".join(descriptions or following)


def _chosen(given: dict[str, Any], option: str, value: Any) -> str:
    """Return the text of a chosen option; a model with random weights includes the seed if one was given."""
    seed = given.get("model_seed") if option in given and option in ("model", "against") else None
    named = _short(given.get(option, value))
    return named if seed is None else f"{named} with --model-seed {seed}"


def _short(value: Any) -> str:
    """Return a short text of a value; nothing if it holds a fingerprint, which tells the user nothing."""
    if value in (None, "", [], ()):
        return "not given"
    if _FINGERPRINT.search(str(value)):
        return ""
    text = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    return text if len(text) <= 60 else text[:40] + "..."
