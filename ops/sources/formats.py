"""The list of all source formats.

To add a format, write a module that defines its `SourceFormat` record, and add the record to `FORMATS`.
"""

from __future__ import annotations

from ops.sources.arrow_file import ARROW
from ops.sources.csv import CSV
from ops.sources.docstrings.packages import PYDOCS
from ops.sources.documents import DOCUMENTS
from ops.sources.file_names import COMPRESSIONS
from ops.sources.hub_format import HUB
from ops.sources.json_array import JSON
from ops.sources.jsonl import JSONL
from ops.sources.paragraphs import PARAGRAPHS
from ops.sources.parquet import PARQUET
from ops.sources.source_format import Reading, SourceFormat
from ops.sources.txt import TXT

# The last two have no suffixes, because options choose them.
FORMATS: tuple[SourceFormat, ...] = (PYDOCS, HUB, TXT, CSV, JSONL, JSON, PARQUET, ARROW, PARAGRAPHS, DOCUMENTS)


def format_of(kind: str) -> SourceFormat:
    """Return the format of a source or a piece, given its kind."""
    return {one.kind: one for one in FORMATS}[kind]


def format_for(suffix: str, reading: Reading) -> SourceFormat | None:
    """Return the format of a file with this suffix; None if it is unknown.

    >>> format_for(".md", Reading()), format_for(".md", Reading(documents=True)).kind
    (None, 'document')
    """
    found = next((one for one in FORMATS if suffix in one.suffixes), None)
    if found in (None, TXT) and reading.documents:
        return DOCUMENTS
    return PARAGRAPHS if found is TXT and reading.paragraphs else found


def suffixes() -> str:
    """Return a text that lists the suffixes of all files that can be read.

    >>> suffixes()
    '.txt .csv .tsv .jsonl .ndjson .json (also .gz .zst) .parquet .arrow'
    """
    compressible = [suffix for one in FORMATS if one.compressible for suffix in one.suffixes]
    others = [suffix for one in FORMATS if not one.compressible for suffix in one.suffixes]
    return " ".join([*compressible, f"(also {' '.join(COMPRESSIONS)})", *others])
