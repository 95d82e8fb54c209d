"""Whether a neuron and pole, or a literal, is the same in all data sets: one-word verdicts."""

from ops.statistics.lifts import Lifts

DATASET_DETECTOR, GLOBAL, LOCAL, NONE = VERDICTS = ("dataset_detector", "global", "local", "none")
DETECTOR_ETA_SQUARED = 0.25
GLOBAL_SHARE = 0.75
DATASET = "dataset"
LEAST_LIFT = 2.0  # within data sets, of a literal that says more of a neuron than its data set does
MOST_I2, LEAST_DATASETS = 0.5, 3  # maximum I2 and minimum number of data sets of a global literal


def verdict(*, eta_squared: float, any_lift: bool, ported: int, datasets: int, found: int) -> str:
    """Return the verdict, by the first of these rules that applies.

    1. `dataset_detector`: the data set explains at least a quarter of the activation's variance, and no literal of the
       cards that is not nuisance has a lift of at least 2 within data sets that is significantly above 1.
    2. `global`: the cards of the other data sets hold in at least three quarters of the data sets.
    3. `local`: in at least one data set, the card learned there beats the card of a random set.
    4. `none` in all other cases.

    Args:
        eta_squared: share of the activation's variance that is between data sets; NaN if unknown.
        any_lift: whether a literal that is not nuisance has such a Mantel-Haenszel lift.
        ported: number of data sets in which the cards of the other data sets hold.
        datasets: number of data sets in which the neuron and pole has enough winners.
        found: number of data sets whose own card beats the card of a random set.

    >>> verdict(eta_squared=0.0, any_lift=True, ported=4, datasets=6, found=6)
    'local'
    """
    if eta_squared >= DETECTOR_ETA_SQUARED and not any_lift:
        return DATASET_DETECTOR
    if datasets > 1 and ported >= GLOBAL_SHARE * datasets:
        return GLOBAL
    return LOCAL if found else NONE


def literal_verdict(lifts: Lifts, overall: float) -> str:
    """Return the verdict on a literal, by the first of these rules that applies.

    1. `global`: the Mantel-Haenszel lift is significantly above 1, I2 is below 0.5 or unknown, and the lift is
       significant in at least 3 data sets.
    2. `local`: the lift is significant in at least one data set.
    3. `dataset`: the lift with all data sets pooled is above 1, but the Mantel-Haenszel interval contains 1.
    4. `none` in all other cases.

    Args:
        lifts: its lifts within data sets.
        overall: its lift with all data sets pooled; NaN if unknown.
    """
    within = lifts.mantel_haenszel
    if within.low > 1 and not lifts.i2 >= MOST_I2 and lifts.significant.sum() >= LEAST_DATASETS:
        return GLOBAL
    if lifts.significant.any():
        return LOCAL
    return DATASET if overall > 1 and within.low <= 1 <= within.high else NONE
