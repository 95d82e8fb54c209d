"""The rows of the tables, from effects that are made up."""

from typing import Any

import numpy as np
import pytest
import torch

from ops.outputs.names import SHOWN
from ops.outputs.tables import check_row, neuron_rows, token_rows
from ops.outputs.token_effects import token_effects
from ops.outputs.token_head import LinearHead
from ops.outputs.written import Written
from ops.schema import TABLES, schema
from ops.statistics.empirical_p import empirical_p

WIDTH, VOCABULARY = 4, 30
STRINGS = [f"t{i}" for i in range(VOCABULARY)]
UNITS, STD = np.array([2, 5, 9]), np.array([0.5, 2.0, 0.0])


@pytest.fixture
def made() -> tuple[LinearHead, torch.Tensor]:
    torch.manual_seed(0)
    head = LinearHead(
        torch.eye(WIDTH), torch.randn(VOCABULARY, WIDTH), torch.ones(VOCABULARY), torch.arange(VOCABULARY)
    )
    directions = torch.randn(3, WIDTH)
    return head, directions


def by_key(table: Any, *key: str) -> dict[Any, dict[str, Any]]:
    return {tuple(row[name] for name in key): row for row in table.to_pylist()}


def test_logits_are_those_of_one_standard_deviation(made: tuple[LinearHead, torch.Tensor]) -> None:
    head, directions = made
    table = token_rows(3, UNITS, token_effects(head, directions), STD, STRINGS)
    assert table.schema.equals(schema("outputs/tokens"))
    assert table.equals(table.sort_by([(name, "ascending") for name in TABLES["outputs/tokens"].order]))
    rows = by_key(table, "unit", "side", "rank")
    assert len(rows) == 3 * 2 * SHOWN
    logits = head.logits(directions).numpy()
    for place, unit in enumerate(UNITS.tolist()):
        order = np.argsort(-logits[place])
        for rank in (1, SHOWN):
            up, down = rows[unit, "promoted", rank], rows[unit, "suppressed", rank]
            assert (up["token_id"], down["token_id"]) == (order[rank - 1], order[-rank])
            assert up["token"] == STRINGS[order[rank - 1]]
            assert up["logit"] == pytest.approx(logits[place, order[rank - 1]] * STD[place], rel=1e-6)
            assert down["logit"] == pytest.approx(logits[place, order[-rank]] * STD[place], rel=1e-6)


def test_a_unit_that_writes_nothing_has_no_tokens_and_no_shape(made: tuple[LinearHead, torch.Tensor]) -> None:
    head, directions = made
    directions[1] = 0
    effects = token_effects(head, directions)
    assert set(token_rows(3, UNITS, effects, STD, STRINGS)["unit"].to_pylist()) == {2, 9}
    null = {"kurtosis": np.array([-0.5, 0.0, 1.0]), "extreme": np.array([1.0, 2.0, 3.0])}
    norms = directions.double().norm(dim=1).numpy()
    table = neuron_rows(3, UNITS, effects, STD, null, norms, np.array([0.5, np.nan, -1.0]))
    assert table.schema.equals(schema("outputs/neurons"))
    rows = by_key(table, "unit")
    dead = rows[5,]
    assert {dead[name] for name in ("skew", "kurtosis", "extreme", "kurtosis_p", "extreme_p", "cosine")} == {None}
    assert (dead["mean"], dead["std"], dead["norm"]) == (0, 0, 0)
    logits = head.logits(directions).double().numpy()
    assert rows[2,]["std"] == pytest.approx(logits[0].std() * 0.5, rel=1e-5)
    assert rows[9,]["std"] == 0, "its activation does not vary"
    assert rows[9,]["kurtosis_p"] == empirical_p(effects.kurtosis, null["kurtosis"])[2]
    assert [rows[unit,]["cosine"] for unit in (2, 9)] == [0.5, -1.0]
    assert neuron_rows(3, UNITS, effects, STD, null, norms, None)["cosine"].null_count == 3


def test_a_check_is_held_against_its_own_effect_and_another_s(made: tuple[LinearHead, torch.Tensor]) -> None:
    head, directions = made
    written = Written(3, 3, "stream", torch.nn.Identity(), writes=directions)
    effects = head.logits(directions).double().numpy()
    change = 0.5 * effects[1] * 2.0
    row = check_row(head, written, (1, 2), 2.0, change, 77)
    assert (row["layer"], row["unit"], row["unit_b"], row["n"]) == (3, 1, 2, 77)
    assert row["correlation"] == pytest.approx(1, abs=1e-5)
    assert row["slope"] == pytest.approx(0.5, rel=1e-5)
    assert row["shuffled"] == pytest.approx(np.corrcoef(effects[1], effects[2])[0, 1], abs=1e-5)
    alone = check_row(head, written, (1, None), 2.0, np.zeros(VOCABULARY), 77)
    assert (alone["unit_b"], alone["shuffled"]) == (None, None)
    assert np.isnan(alone["correlation"])
