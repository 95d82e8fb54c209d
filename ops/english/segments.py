"""The sentences of a Doc, whether or not a pipe has set their boundaries."""

from itertools import pairwise

import numpy as np
from spacy.attrs import SENT_START  # type: ignore[import-not-found]
from spacy.tokens import Doc

START, INSIDE = np.array([1, -1]).astype(np.uint64)


def sentence_spans(doc: Doc) -> list[tuple[int, int]]:
    """Return each sentence's first token and the token after its last; one sentence if no boundary is set."""
    if not len(doc):
        return []
    inner = np.flatnonzero(doc.to_array(SENT_START)[1:] == START) + 1
    edges = [0, *inner.tolist(), len(doc)]
    return list(pairwise(edges))


def fill_boundaries(doc: Doc) -> None:
    """Make the complete Doc one sentence if no boundary is set, so that `doc.sents` can be read."""
    if not doc.has_annotation("SENT_START"):
        starts = np.full((len(doc), 1), INSIDE)
        starts[:1] = START
        doc.from_array([SENT_START], starts)  # type: ignore[arg-type]
