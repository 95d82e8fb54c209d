"""One short name for all that a result depends on."""

import hashlib
import json
from typing import Any


def fingerprint(identity: dict[str, Any]) -> str:
    """Return the sha256, as 64 hexadecimal digits, of a JSON-able mapping; the order of its keys does not matter."""
    text = json.dumps(identity, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def differences(was: dict[str, Any], now: dict[str, Any]) -> str:
    """Return in words every key in which two identities differ, empty where they are the same.

    >>> differences({"k": 10, "seed": 0}, {"k": 5, "seed": 0})
    'k (was 10, is 5)'
    """
    keys = sorted(k for k in was.keys() | now.keys() if was.get(k) != now.get(k))
    return ", ".join(f"{k} (was {_short(was.get(k))}, is {_short(now.get(k))})" for k in keys)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:40] + "..."
