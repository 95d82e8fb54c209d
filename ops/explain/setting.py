"""Where winners come from and how long they are, in words, where they differ from the corpus."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from ops.arrays import Int64s
from ops.explain.wording import percent
from ops.sentences.store import SentenceStore

LEAST_SHARE, LEAST_LIFT = 0.5, 1.5  # of the data set that most winners come from, against the corpus


@dataclass(frozen=True)
class Settings:
    """The data sets and lengths of a corpus.

    Attributes:
        store: the sentences.
        shares: each data set's share of the corpus, `[data sets]`.
        short, long: the quartiles of the number of words of its sentences.
    """

    store: SentenceStore
    shares: list[float]
    short: float
    long: float

    @classmethod
    def of(cls, store: SentenceStore, baseline: Int64s) -> Self:
        """Return those of the rows of the baseline, a uniform sample of the corpus."""
        counts = np.bincount(np.asarray(store.dataset)[baseline], minlength=len(store.names["dataset"]))
        lengths = store.lengths(baseline)
        short, long = np.quantile(lengths, (0.25, 0.75)) if len(lengths) else (0.0, np.inf)
        return cls(store, (counts / max(len(baseline), 1)).tolist(), float(short), float(long))

    def say(self, winners: Int64s) -> str:
        """Return what sets these rows apart, to follow "Its winners are"; an empty text if nothing does.

        A data set is named if at least half of the winners come from it, and at least 1.5 times its share of the
        corpus. Winners are short or long if their median is outside the quartiles of the corpus.
        """
        counts = np.bincount(np.asarray(self.store.dataset)[winners], minlength=len(self.shares))
        most = int(np.argmax(counts))
        share, middle = float(counts[most]) / len(winners), float(np.median(self.store.lengths(winners)))
        said = []
        if share >= LEAST_SHARE and share >= LEAST_LIFT * self.shares[most]:
            name = self.store.names["dataset"][most]
            said.append(f"mostly from *{name}* ({percent(share)}, corpus {percent(self.shares[most])})")
        if middle < self.short:
            said.append(f"short (half have at most {middle:.0f} words)")
        elif middle > self.long:
            said.append(f"long (half have at least {middle:.0f} words)")
        return " and ".join(said)
