"""Measures how often 95 % intervals of areas contain the truth, in simulations with few and many documents.

Used by `python -m bench calibration --intervals`.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from scipy.stats import norm

from bench.mined_calibration import Z99
from ops.arrays import Float64s
from ops.statistics.by_document import areas_by_document
from ops.statistics.interval import wilson

SHIFTS = (0.0, 1.0, 2.0)  # between the means of the sets, in standard deviations: areas of 0.5, 0.76 and 0.92
WITHIN = (0.0, 0.3)  # share of the variance that is between documents
SENTENCES, UNITS = 10, 20  # mean number of sentences of a document, and units that share the same documents
LIMITS, LIMITS_OF_FEW, FEW = (0.93, 0.97), (0.91, 0.98), 5  # of the share of intervals, and with how few documents


class Setting(NamedTuple):
    """How many documents the sets have.

    Attributes:
        documents: the number of documents of the smaller set.
        others: that of the other set; None if each document has sentences of both sets.
        apart: whether a document shifts the sentences of both sets by different values.
    """

    documents: int
    others: int | None = None
    apart: bool = True

    def __str__(self) -> str:
        if self.others is not None:
            return f"{self.documents} against {self.others}"
        return f"{self.documents} of both, shifts {'differ' if self.apart else 'are equal'}"


SETTINGS = (
    *(Setting(5, others) for others in (5, 10, 20, 50, 200)),
    *(Setting(10, others) for others in (10, 20, 50, 100, 200)),
    *(Setting(20, others) for others in (20, 50, 100, 200)),
    *(Setting(40, others) for others in (40, 100, 200)),
    *(Setting(documents, None, apart) for documents in (5, 10, 20, 40) for apart in (False, True)),
)


def coverage_rows(simulations: int, seed: int, settings: tuple[Setting, ...] = SETTINGS) -> list[dict[str, Any]]:
    """Return for each setting, area and share of variance how many intervals contain the truth.

    `ok` says whether the 99 % interval of that share overlaps its limits.

    Args:
        simulations: number of simulations of each row.
        seed: the seed of the draws.
        settings: the settings.
    """
    random, rows = np.random.default_rng(seed), []
    for setting in settings:
        low, high = LIMITS_OF_FEW if setting.documents <= FEW else LIMITS
        for within in WITHIN:
            for shift in SHIFTS:
                each = [_covered(setting, within, shift, random) for _ in range(-(-simulations // UNITS))]
                covered, least, most = wilson(float(np.mean(each)), len(each) * UNITS, Z99)
                row = {"setting": str(setting), "within": within, "area": float(norm.cdf(shift / math.sqrt(2)))}
                rows.append({**row, "covered": covered, "ok": most >= low and least <= high})
    return rows


def _covered(setting: Setting, within: float, shift: float, random: Generator) -> float:
    """Return the share of intervals of one draw of documents that contain the truth.

    The truth is the chance that a sentence of one set is above one of the other set, for these sizes of documents.
    """
    same = setting.others is None
    count = setting.documents + (0 if setting.others is None else setting.others)
    mean = SENTENCES / 2 if same else SENTENCES
    numbers = [np.arange(count)] * 2 if same else np.split(np.arange(count), [setting.documents])
    documents = [np.repeat(own, random.geometric(1 / mean, len(own))) for own in numbers]
    shifts = random.normal(size=(2, count, UNITS))
    if not setting.apart:
        shifts[1] = shifts[0]
    values = [
        math.sqrt(within) * own[of] + math.sqrt(1 - within) * random.normal(size=(len(of), UNITS))
        for own, of in zip(shifts, documents, strict=True)
    ]
    shares = [np.bincount(of, minlength=count) / len(of) for of in documents]
    together = 0.0 if setting.apart else float(shares[0] @ shares[1])
    spread = math.sqrt(2) * np.sqrt([1.0, 1.0 - within])
    truth = float(np.dot([1 - together, together], norm.cdf(shift / spread)))
    found: Float64s = areas_by_document(values[0] + shift, values[1], *documents)
    return float(((found[1] <= truth) & (truth <= found[2])).mean())
