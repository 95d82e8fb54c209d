"""From a source's rows to sentences that are cleaned, counted and judged, in blocks of one table layout."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np
import pyarrow as pa

from ops.clean_text import collapse_symbols, normalize
from ops.rows import Broken, Row
from ops.schema import META
from ops.tokens import Tokenizer, Tokens

MIN_TOKENS = 3
REJECT_CHARACTERS = 200
_BLOCK = 2_048

BLOCK_SCHEMA = pa.schema(
    [
        ("text", pa.string()),
        ("doc_id", pa.string()),
        ("meta", META),
        ("sent_in_doc", pa.int32()),
        ("n_tokens", pa.int32()),
        ("cut", pa.bool_()),
        ("hash_high", pa.uint64()),
        ("hash_low", pa.uint64()),
        ("reason", pa.string()),
    ]
)


class Splitter(Protocol):
    """Cuts a row's text into sentences."""

    def split(self, text: str) -> list[str]:
        """Give the raw sentences in order."""


class Judge:
    """Turns rows into blocks of sentences, the unusable ones marked with a reason; counts rows as it goes.

    Args:
        tokenizer: the model's tokenizer.
        splitter: cuts rows into sentences; None where a row is a sentence already (which then keeps its symbols).
    """

    def __init__(self, tokenizer: Tokenizer, splitter: Splitter | None) -> None:
        self.tokenizer, self.splitter = tokenizer, splitter
        self.rows = 0
        self._place: Counter[str] = Counter()

    def blocks(self, rows: Iterable[Row | Broken]) -> Iterator[pa.Table]:
        """Give the sentences of `rows`, in tables of `BLOCK_SCHEMA`; `sent_in_doc` counts within these rows."""
        waiting: list[tuple[str, str, dict[str, str], str | None]] = []
        for row in rows:
            self.rows += 1
            waiting.extend(self._sentences(row))
            while len(waiting) >= _BLOCK:
                yield self._judge(waiting[:_BLOCK])
                del waiting[:_BLOCK]
        if waiting:
            yield self._judge(waiting)

    def _sentences(self, row: Row | Broken) -> Iterator[tuple[str, str, dict[str, str], str | None]]:
        if isinstance(row, Broken):
            yield row.text, row.doc_id, {}, row.reason
            return
        if self.splitter is None:
            texts = [normalize(row.text)]
        else:
            texts = [normalize(collapse_symbols(normalize(piece))) for piece in self.splitter.split(row.text)]
        for text in texts or [""]:
            yield text, row.doc_id, row.meta, None if text else "empty"

    def _judge(self, found: list[tuple[str, str, dict[str, str], str | None]]) -> pa.Table:
        usable = [i for i, (_, _, _, reason) in enumerate(found) if reason is None]
        tokens = dict(zip(usable, self.tokenizer.encode([found[i][0] for i in usable]), strict=True))
        columns: dict[str, list[object]] = {name: [] for name in BLOCK_SCHEMA.names}
        for i, (text, doc_id, meta, reason) in enumerate(found):
            encoded = tokens.get(i)
            if encoded is not None:
                reason = self._why_not(encoded)
            high, low = np.frombuffer(hashlib.blake2b(text.encode(), digest_size=16).digest(), np.uint64)
            row = (
                text if reason is None else text[:REJECT_CHARACTERS],
                doc_id,
                list(meta.items()),
                self._place[doc_id],
                len(encoded.ids) if encoded else 0,
                encoded.cut if encoded else False,
                int(high),
                int(low),
                reason,
            )
            self._place[doc_id] += 1
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
        return pa.table(columns, schema=BLOCK_SCHEMA)

    def _why_not(self, tokens: Tokens) -> str | None:
        own = [i for i, added in zip(tokens.ids, tokens.added, strict=True) if not added]
        if len(own) < MIN_TOKENS:
            return "too_short"
        if self.tokenizer.unknown_id is not None and all(i == self.tokenizer.unknown_id for i in own):
            return "unknown_tokens"
        return None
