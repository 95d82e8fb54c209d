"""The properties of a source's file that its name shows: its compression, and its suffix without the compression."""

from __future__ import annotations

import os

COMPRESSIONS = (".gz", ".zst")


def compression(path: str) -> str | None:
    """Return `gzip` or `zstd` according to a file's suffix, or None if the file is not compressed."""
    plain = without_query(path).lower()
    return "gzip" if plain.endswith(".gz") else "zstd" if plain.endswith(".zst") else None


def suffix(path: str) -> str:
    """Return a file's suffix in lower case, without the suffix of its compression.

    >>> suffix("a/b.JSONL.gz"), suffix("s3://bucket/c.csv?region=x")
    ('.jsonl', '.csv')
    """
    plain = without_query(path).lower()
    for ending in COMPRESSIONS:
        plain = plain.removesuffix(ending)
    return os.path.splitext(plain)[1]


def stem(path: str) -> str:
    """Return a file's name without folders, query, compression and format suffix."""
    name = os.path.basename(without_query(path))
    for ending in COMPRESSIONS:
        name = name.removesuffix(ending) or name
    return os.path.splitext(name)[0] or name


def without_query(path: str) -> str:
    """Return a path; the query of a URI is removed."""
    return path.partition("?")[0] if "://" in path else path
