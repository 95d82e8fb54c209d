"""The properties of a source's file that its path shows: format, compression, and metadata in the names of folders."""

import os
from urllib.parse import unquote

# The kind of the format of a file with each suffix. The last ones are never compressed.
KINDS = {
    ".txt": "txt",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".arrow": "arrow",
}
UNCOMPRESSED = ("parquet", "arrow")
COMPRESSIONS = (".gz", ".zst")
_NULL = "__HIVE_DEFAULT_PARTITION__"  # stands for a null in the name of a folder


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


def suffixes() -> str:
    """Return a text that lists the suffixes of all files that can be read.

    >>> suffixes()
    '.txt .csv .tsv .jsonl .ndjson .json (also .gz .zst) .parquet .arrow'
    """
    compressible = [suffix for suffix, kind in KINDS.items() if kind not in UNCOMPRESSED]
    others = [suffix for suffix, kind in KINDS.items() if kind in UNCOMPRESSED]
    return " ".join([*compressible, f"(also {' '.join(COMPRESSIONS)})", *others])


def folder_keys(path: str) -> dict[str, str]:
    """Return the keys and values in the names of a file's folders, decoded; the innermost folder with a key wins.

    >>> folder_keys("/set/lang=en/day=1%2F2/part.parquet"), folder_keys("s3://bucket/a=b/part.parquet?region=x=y/z")
    ({'lang': 'en', 'day': '1/2'}, {'a': 'b'})
    """
    plain = unquote(without_query(path)) if "://" in path else path
    named = (folder.partition("=") for folder in plain.split("/")[:-1])
    return {unquote(key): unquote(value) for key, _, value in named if key and value and value != _NULL}


def inside(folder: str, name: str) -> str:
    """Return the path of a name in a folder, whose query goes to the end.

    >>> inside("s3://bucket/a/?region=x", "b")
    's3://bucket/a/b?region=x'
    """
    plain = without_query(folder)
    return f"{plain.rstrip('/')}/{name}{folder[len(plain) :]}"


def without_query(path: str) -> str:
    """Return a path; the query of a URI is removed."""
    return path.partition("?")[0] if "://" in path else path
