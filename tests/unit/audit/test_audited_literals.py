"""The literals that an audit tests, and the winners on which a literal of an activation model is tested."""

import math
from pathlib import Path

import numpy as np
import pytest

from ops.audit.audited_literals import ExplanationLiterals, audited_literals
from ops.topk.neurons import POLES, Neurons, set_number
from tests.unit.facts.made_up_rows import explained, term, write_tables


@pytest.mark.parametrize(("poles", "tested_on"), [(["bottom"], "bottom"), (["bottom", "top"], "top"), (["top"], "top")])
def test_an_activation_model_is_tested_on_a_pole_of_the_run(tmp_path: Path, poles: list[str], tested_on: str) -> None:
    """A word that raises the activation counts against the lowest activations, whose share with it is not known."""
    word = {"kind": "word", "pattern": "see", "items": ["see"], "listed": 1}
    rows = [term("activation", None, "see", share=0.5, baseline_share=0.25)]
    store = write_tables(tmp_path, {
        "explanations": [explained(5, pole, *[0.5] * 4) for pole in poles], "explanation_folds": [],
        "explanation_terms": rows, "explain/literals": [word],
    })  # fmt: skip
    literals = ExplanationLiterals(store, Neurons((6,)), audited_literals(store))
    ((number, (found,)),) = literals.of(np.array([5])).items()
    assert number == set_number(5, POLES.index(tested_on))
    assert (found.row["negated"], found.row["weight"]) == (tested_on == "bottom", 2.0)
    assert found.lift == pytest.approx(math.nan if tested_on == "bottom" else 2.0, nan_ok=True)
