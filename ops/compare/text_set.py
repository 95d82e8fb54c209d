"""A uniform sample of the distinct sentences of a source, drawn while it streams by."""

import heapq
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from ops.corpus.sentences import Block
from ops.sampling import TEXT_SETS, priorities


def sample_sentences(blocks: Iterator[Block], most: int, seed: int) -> tuple[pa.Table, dict[str, int]]:
    """Return at most so many distinct sentences, in the order of the source, and what was counted.

    A sentence's priority is a seeded mix of its hash, so that copies have one priority, and memory is that of the
    sample. With all blocks of a source read, the sample does not depend on how they were cut.

    Args:
        blocks: as `SentenceFilter.blocks` returns them.
        most: sentences that are kept.
        seed: the run's.

    Returns:
        `text` and `n_tokens`; and the counts `sentences` (usable ones, copies too), `rejects` and `kept`.
    """
    # The highest priority of those kept stands first (negated), and goes when a lower one comes.
    kept: list[tuple[int, int, str, int]] = []
    known: set[int] = set()
    counts = {"sentences": 0, "rejects": 0}
    for block in blocks:
        texts, n_tokens = block.sentences["text"].to_pylist(), block.sentences["n_tokens"].to_pylist()
        found = priorities(np.ascontiguousarray(block.hashes[:, 0]), seed, TEXT_SETS).tolist()
        for text, tokens, priority in zip(texts, n_tokens, found, strict=True):
            place = counts["sentences"]
            counts["sentences"] += 1
            if priority in known or (len(kept) == most and -kept[0][0] <= priority):
                continue
            known.add(priority)
            if len(kept) == most:
                known.discard(-heapq.heapreplace(kept, (-priority, place, text, tokens))[0])
            else:
                heapq.heappush(kept, (-priority, place, text, tokens))
        counts["rejects"] += block.rejects.num_rows
    kept.sort(key=lambda entry: entry[1])
    table = pa.table(
        {"text": pa.array([e[2] for e in kept], pa.string()), "n_tokens": pa.array([e[3] for e in kept], pa.int32())}
    )
    return table, {**counts, "kept": len(kept)}
