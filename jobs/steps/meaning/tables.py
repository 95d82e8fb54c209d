"""The tables of the counts of `meaning`, from the counts that all shards add up to."""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from jobs.stage.runner import Stage
from jobs.steps.meaning.counts import SUMS, CountArgs, merge_step, range_file
from ops.meaning.contexts import Longs
from ops.meaning.vectors import Doubles, factorise, ppmi
from ops.meaning.vocabulary import Vocabulary
from ops.schema import group_rows, schema
from ops.shards import spans
from ops.storage.range_file import read_each
from ops.storage.side_by_side import side_by_side
from ops.storage.tables import write_part

CONTEXTS, WORDS = "meaning/contexts", "meaning/words"


def _read_sums(args: CountArgs, name: str) -> Longs:
    with args.store.parquet(name) as file:
        return np.array(json.loads(file.schema_arrow.metadata[SUMS]), np.int64)


def publish(stage: Stage, args: CountArgs, vocabulary: Vocabulary, options: dict[str, Any]) -> None:
    """Write meaning/contexts with its PPMI and meaning/words with the vectors, and record the counts.

    Args:
        stage, args, vocabulary: the stage under way, what its workers were made from, and its words.
        options: `smoothing`, `dimensions`, `singular_power`, `seed`.
    """
    words, contexts = np.array(vocabulary.rows, object), np.array(vocabulary.columns, object)
    ranges = [range_file(item).path for item in merge_step(args, len(words)).items]
    sums = np.zeros(len(contexts), np.int64)
    for own_sums in side_by_side(partial(_read_sums, args), ranges):
        sums += own_sums
    parts: list[tuple[Longs, Longs, Doubles]] = []

    def tables() -> Iterator[pa.Table]:
        for table in read_each(args.store, ranges):
            row, column, count = (c.to_numpy() for c in table.columns)
            own = np.bincount(row, count, len(words)).astype(np.int64)
            values = ppmi(count, row, column, own, sums, options["smoothing"])
            parts.append((row, column, values))
            for first, stop in spans(len(row), group_rows(CONTEXTS)):
                piece = slice(first, stop)
                columns = [words[row[piece]], contexts[column[piece]], count[piece], values[piece].astype(np.float32)]
                arrays = [pa.array(c, f.type) for c, f in zip(columns, schema(CONTEXTS), strict=True)]
                yield pa.Table.from_arrays(arrays, schema=schema(CONTEXTS))

    pairs = write_part(args.store, CONTEXTS, 0, schema(CONTEXTS), tables(), args.fingerprint)
    row, column, values = (np.concatenate(c) for c in zip(*parts, strict=True))
    matrix = sp.csr_matrix((values, (row, column)), (len(words), len(contexts)))
    vectors = factorise(matrix, options["dimensions"], options["singular_power"], options["seed"])
    columns = {"word": vocabulary.rows, "count": vocabulary.row_counts, "vector": pa.array(list(vectors))}
    table = pa.table(columns, schema=schema(WORDS))
    write_part(args.store, WORDS, 0, schema(WORDS), [table], args.fingerprint)
    stage.finish(
        {
            "sentences": args.shards.sentences,
            "words": len(words),
            "context_words": len(contexts),
            "pairs": pairs,
            "counted": int(sums.sum()),
            "dimensions": vectors.shape[1],
        }
    )
