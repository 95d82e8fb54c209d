"""The time as records have it."""

from datetime import UTC, datetime


def utc_now() -> str:
    """Return the time to the second, as `2026-01-02T03:04:05Z`."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
