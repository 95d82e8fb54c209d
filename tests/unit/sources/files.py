"""Files that tests write."""

from pathlib import Path


def write(path: Path, content: str | bytes = "text\na\n") -> str:
    """Write a file, with the folders above it, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)
