"""The account of every source's sentences: each sentence is counted under one outcome, or an error is raised."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ops.arrays import Int64s
from ops.corpus.numbering import Numbering, Pieces
from ops.errors import InputError, counted, visible

MOST_UNREAD = 0.05  # share of a source's tokens beyond the model's limit above which a line warns


def check_found(specs: Sequence[str], pieces: Pieces) -> None:
    """Refuse a source without a usable sentence.

    Args:
        specs: the sources as the user named them.
        pieces: the pieces that were read from the sources.

    Raises:
        InputError: a source has no usable sentence. The message names the source, the rows read and the rejects.
    """
    for i, spec in enumerate(specs):
        of_source = pieces.sources == i
        if not pieces.sentences[of_source].sum():
            rows, reasons = pieces.rows[of_source].sum(), reject_reasons(pieces, i)
            why = ", ".join(f"{n:,} {reason}" for reason, n in reasons.items()) or "none"
            if not rows:
                problem = "is empty"
            elif set(reasons) == {"invalid_text"}:
                problem = f"is not UTF-8 text ({counted(rows, 'row')}, none valid); convert it, as with iconv"
            else:
                problem = (
                    f"gave no sentence ({counted(rows, 'row')} read, rejected: {why}); see --split and --text-column"
                )
            raise InputError(f"--corpus {spec}: {problem}")


def reject_reasons(pieces: Pieces, source: int) -> dict[str, int]:
    """Return the number of a source's rejects for each reason."""
    counts: Counter[str] = Counter()
    for piece in np.flatnonzero(pieces.sources == source):
        counts.update(pieces.reasons[piece])
    return dict(sorted(counts.items()))


def account(
    specs: Sequence[str], datasets: Sequence[str], pieces: Pieces, numbering: Numbering, lengths: Int64s, near: bool
) -> list[dict[str, Any]]:
    """Count the sentences of every source by outcome: kept, copies, rejected, not sampled, and others.

    Args:
        specs, pieces: as `check_found` takes them.
        datasets: the name of each source's dataset.
        numbering: which sentences were kept.
        lengths: for each source its tokens, its truncated sentences, and their tokens beyond the limit, `[3, sources]`.
        near: whether to count near-duplicates too.

    Raises:
        RuntimeError: a source's counts do not add up.
    """
    starts = np.cumsum(numbering.kept) - numbering.kept
    accounts = []
    for i, dataset in enumerate(datasets):
        of_source = pieces.sources == i
        usable, rejected = int(pieces.sentences[of_source].sum()), int(pieces.rejects[of_source].sum())
        distinct, kept = int(numbering.distinct[i]), int(numbering.kept[i])
        counts: dict[str, Any] = {
            "source": specs[i],
            "dataset": dataset,
            "rows": int(pieces.rows[of_source].sum()),
            "sentences": usable + rejected,
            "kept": kept,
            "copies": usable - distinct,
            "rejected": rejected,
            "not_sampled": distinct - kept,
            **dict(zip(("tokens", "truncated", "truncated_tokens"), lengths[:, i].tolist(), strict=True)),
            "reject_reasons": reject_reasons(pieces, i),
            "first_sent_id": int(starts[i]),
        }
        if near:
            counts["near_copies"] = int(numbering.near[i])
        if counts["sentences"] != kept + counts["copies"] + rejected + counts["not_sampled"]:
            raise RuntimeError(f"ingest: the counts of {specs[i]} do not add up: {counts}")
        accounts.append(counts)
    return accounts


def account_lines(accounts: list[dict[str, Any]]) -> Iterator[str]:
    """Yield one line of text for each source's account, and another if much of its text is beyond the limit."""
    for a in accounts:
        name = visible(a["dataset"])
        nearly = f" ({a['near_copies']:,} of them near-copies)" if "near_copies" in a else ""
        unread, tokens = a["truncated_tokens"], a["truncated_tokens"] + a["tokens"]
        lost = f", which leaves {unread:,} of {counted(tokens, 'token')} unread" if unread else ""
        yield (
            f"ingest: {name}: {counted(a['sentences'], 'sentence')} = {a['kept']:,} kept"
            f" + {a['copies']:,} further {'copy' if a['copies'] == 1 else 'copies'}{nearly}"
            f" + {a['rejected']:,} rejected + {a['not_sampled']:,} not sampled;"
            f" {a['truncated']:,} cut at the model's limit{lost}"
        )
        if parts := a.get("reject_reasons", {}).get("not_text"):
            yield f"ingest: {name}: {counted(parts, 'value')} left out that are not text, such as images in messages"
        if unread > MOST_UNREAD * tokens:
            yield (
                f"ingest: warning: {unread / tokens:.0%} of {name} is beyond the model's limit and not read; "
                "shorten its rows, as --split sentences does, or choose a model with a higher limit"
            )
