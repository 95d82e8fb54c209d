"""Contrasts of made-up sentences."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ops.contrast.groups import Contrast


def sentences(n: int, seed: int = 0, documents: int = 40, **meta: Sequence[str | None]) -> pa.Table:
    """Return made-up sentences of two data sets; whole documents are in one of them."""
    random = np.random.default_rng(seed)
    document = random.integers(0, documents, n)
    columns: dict[str, Any] = {
        "dataset": [("news", "mail")[d % 2] for d in document.tolist()],
        "doc_id": [f"d{d}" for d in document.tolist()],
        "n_tokens": pa.array(random.integers(5, 12, n), pa.int32()),
        "text": [f"sentence {i}" for i in range(n)],
    }
    if meta:
        keys = [pa.array(values, pa.string()) for values in meta.values()]
        columns["meta"] = pa.StructArray.from_arrays(keys, names=list(meta))
    return pa.table(columns)


def contrast(n: int = 300, seed: int = 0, by_document: bool = False, documents: int = 40) -> Contrast:
    """Return a contrast of random groups, of whole documents or of single sentences."""
    table, random = sentences(n, seed, documents), np.random.default_rng(seed + 1)
    if by_document:
        codes = np.unique(table["doc_id"].to_pylist(), return_inverse=True)[1]
        is_a = (random.random(codes.max() + 1) < 0.4)[codes]
    else:
        is_a = random.random(n) < 0.4
    return Contrast.of("made up", table, is_a, ~is_a, 0)
