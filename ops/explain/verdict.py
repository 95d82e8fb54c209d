"""Whether an explanation holds: a one-word verdict for a neuron and pole."""

import math

VERDICTS = ("explained", "nuisance", "none", "weak")
LEAST_WINNERS, LEAST_DOCUMENTS = 10, 5  # minimum numbers of winners, and of documents with winners, in the test half


def verdict(
    *,
    literals: int,
    n_test: int,
    test_documents: int,
    f1_low: float,
    random_f1: float,
    nuisance_f1: float,
    matched_f1: float,
) -> str:
    """Return the verdict on a score card, by the first of these rules that applies.

    1. `weak`: the test half has fewer than 10 winners, or fewer than 5 documents with winners.
    2. `none`: the card has no literal, or its F1 is not above that of a random set.
    3. `nuisance`: its F1 is not above that of the nuisance literals alone, or not above that of the matched set.
    4. `explained` in all other cases.

    The card's F1 counts as above another F1 if the lower end of its interval is above the other F1. If that lower end
    or the F1 of the random set is NaN, rule 2 applies. The other two F1 values may be missing (NaN) and are then
    ignored.

    Args:
        literals: number of literals on the card, including nuisance.
        n_test, test_documents: number of winners in the test half, and number of its documents with winners.
        f1_low: lower end of the interval of the card's F1 on the test half.
        random_f1, nuisance_f1, matched_f1: F1 on the test half of three other cards: that of a random set, that of the
            nuisance literals alone, and that of a set matched to the winners in length and documents.

    >>> given = dict(literals=2, n_test=900, test_documents=300, random_f1=0.02, nuisance_f1=0.1, matched_f1=0.05)
    >>> verdict(f1_low=0.3, **given), verdict(f1_low=0.08, **given), verdict(f1_low=0.01, **given)
    ('explained', 'nuisance', 'none')
    """
    if n_test < LEAST_WINNERS or test_documents < LEAST_DOCUMENTS:
        return "weak"
    if not literals or not f1_low > random_f1:
        return "none"
    known = [f1 for f1 in (nuisance_f1, matched_f1) if not math.isnan(f1)]
    return "nuisance" if any(f1_low <= f1 for f1 in known) else "explained"
