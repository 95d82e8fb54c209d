"""Formats times for records and messages."""

from datetime import UTC, datetime


def utc_now() -> str:
    """Return the current UTC time to the second, such as `2026-01-02T03:04:05Z`."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def duration(seconds: float) -> str:
    """Return a duration in readable form, such as `42 s`, `3 min` or `2 h 10 min`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
