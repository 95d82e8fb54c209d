import math

import pytest

from ops.explain.verdict import VERDICTS, verdict

GOOD = {"literals": 3, "n_test": 10, "test_documents": 5, "f1_low": 0.4}
GOOD |= {"random_f1": 0.1, "nuisance_f1": 0.3, "matched_f1": 0.2}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, "explained"),
        ({"n_test": 9, "f1_low": 0.0}, "weak"),
        ({"test_documents": 4}, "weak"),
        ({"f1_low": math.nan}, "none"),
        ({"f1_low": math.nan, "n_test": 0, "test_documents": 0}, "weak"),
        ({"literals": 0}, "none"),
        ({"f1_low": 0.1}, "none"),
        ({"random_f1": math.nan}, "none"),
        ({"f1_low": 0.1, "random_f1": 0.2, "nuisance_f1": 0.0, "matched_f1": 0.0}, "none"),
        ({"f1_low": 0.3}, "nuisance"),
        ({"matched_f1": 0.4}, "nuisance"),
        ({"matched_f1": 0.39}, "explained"),
        ({"matched_f1": math.nan}, "explained"),
        ({"nuisance_f1": math.nan, "matched_f1": 0.5}, "nuisance"),
    ],
)
def test_the_first_rule_that_holds_decides(changed: dict[str, float], expected: str) -> None:
    assert verdict(**{**GOOD, **changed}) == expected
    assert expected in VERDICTS
