"""A spaCy pipeline that is loaded again from time to time, since spaCy keeps every string that it meets."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.language import Language

MOST_NEW_STRINGS = 100_000  # about 50 MB


class ReloadedPipeline:
    """Loads a pipeline, and loads it again before a use once it has stored many strings more than at first."""

    def __init__(self, load: Callable[[], Language]) -> None:
        self._load = load
        self._pipeline: Language | None = None
        self._most = 0

    def __call__(self) -> Language:
        """Return the pipeline; do not keep it between two uses."""
        if self._pipeline is None or len(self._pipeline.vocab.strings) > self._most:
            if self._pipeline is not None:
                # The parts of a pipeline refer to one another, so only the collector frees it, unless it is frozen.
                self._pipeline = None
                gc.unfreeze()
                gc.collect()
            self._pipeline = self._load()
            self._most = len(self._pipeline.vocab.strings) + MOST_NEW_STRINGS
        return self._pipeline
