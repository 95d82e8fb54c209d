"""One short name for all that a result depends on."""

import hashlib
import json
from typing import Any


def fingerprint(identity: dict[str, Any]) -> str:
    """Return the sha256, as 64 hexadecimal digits, of a JSON-able mapping; the order of its keys does not matter."""
    text = json.dumps(identity, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
