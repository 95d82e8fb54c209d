"""Whether a neuron and pole responds to the same thing in all data sets: a one-word verdict."""

DATASET_DETECTOR, GLOBAL, LOCAL, NONE = VERDICTS = ("dataset_detector", "global", "local", "none")
DETECTOR_ETA_SQUARED = 0.25
GLOBAL_SHARE = 0.75


def verdict(*, eta_squared: float, any_lift: bool, ported: int, datasets: int, found: int) -> str:
    """Return the verdict, by the first of these rules that applies.

    1. `dataset_detector`: the data set explains at least a quarter of the activation's variance, and no literal of the
       score card has a lift within data sets that is significantly above 1.
    2. `global`: the cards of the other data sets hold in at least three quarters of the data sets.
    3. `local`: in at least one data set, the card learned there beats the card of a random set.
    4. `none` in all other cases.
    Args:
        eta_squared: share of the activation's variance that is between data sets; NaN if unknown.
        any_lift: whether a literal of the score card has a Mantel-Haenszel lift with a lower bound above 1.
        ported: number of data sets in which the cards of the other data sets hold.
        datasets: number of data sets in which the neuron and pole has winners.
        found: number of data sets whose own card beats the card of a random set.

    >>> verdict(eta_squared=0.4, any_lift=False, ported=0, datasets=6, found=1)
    'dataset_detector'
    >>> verdict(eta_squared=0.4, any_lift=True, ported=5, datasets=6, found=6)
    'global'
    >>> verdict(eta_squared=0.0, any_lift=True, ported=4, datasets=6, found=6)
    'local'
    """
    if eta_squared >= DETECTOR_ETA_SQUARED and not any_lift:
        return DATASET_DETECTOR
    if datasets > 1 and ported >= GLOBAL_SHARE * datasets:
        return GLOBAL
    return LOCAL if found else NONE
