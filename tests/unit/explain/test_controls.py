import numpy as np
import pyarrow as pa

from ops.explain.activation_model import ActivationModels
from ops.explain.control_figure import control_figures
from ops.explain.controls import R2_BEYOND, activation_measures, all_controls, value_rows
from tests.unit.figure_letters import check_inside, check_print

BASES = ("neurons", "rotated", "shuffled")
RNG = np.random.default_rng(0)


def control_rows(layer: int, basis: str, model: str, measures: dict[str, np.ndarray]) -> pa.Table:
    """Return the rows of one layer and basis, whose axes come in two ranges."""
    halves = [{name: own[part::2] for name, own in measures.items()} for part in (0, 1)]
    return all_controls(pa.concat_tables(table for half in halves for table in value_rows(layer, basis, model, half)))


def models(r2: list[float], r2_nuisance: list[float]) -> ActivationModels:
    units = len(r2)
    ends = np.full(units, np.nan)
    count = np.arange(units, dtype=np.int32)
    none = np.full((units, 2), np.nan)
    literals = np.full((units, 2), -1, np.int32)
    return ActivationModels(literals, none, none, count, np.array(r2), ends, ends, np.array(r2_nuisance))


def test_rows_have_the_mean_and_quantiles_of_what_is_known() -> None:
    values = RNG.normal(size=101)
    rows = control_rows(2, "rotated", "winners", {"f1": np.append(values, np.nan), "average_precision": values + 1})
    first, second = rows.to_pylist()
    assert [first["measure"], second["measure"]] == ["average_precision", "f1"]
    assert (second["layer"], second["basis"], second["model"], second["n"]) == (2, "rotated", "winners", 101)
    np.testing.assert_allclose(second["mean"], values.mean())
    np.testing.assert_allclose([second[f"q{q:02}"] for q in (5, 25, 50, 75, 95)], np.sort(values)[[5, 25, 50, 75, 95]])
    np.testing.assert_allclose(first["q50"], second["q50"] + 1)


def test_activation_models_are_measured_beyond_nuisance() -> None:
    found = activation_measures(models([0.5, 0.25, np.nan], [0.25, 0.5, np.nan]))
    np.testing.assert_allclose(found[R2_BEYOND], [0.25, -0.25, np.nan])
    np.testing.assert_allclose(found["literals"], [0, 1, np.nan])
    rows = control_rows(1, "neurons", "activation", found).to_pylist()
    assert [(row["measure"], row["n"], row["mean"]) for row in rows] == [
        ("literals", 2, 0.5),
        ("r2", 2, 0.375),
        (R2_BEYOND, 2, 0.0),
        ("r2_nuisance", 2, 0.375),
    ]
    # A dictionary's features have no rotated axes.
    assert len(control_rows(1, "rotated", "activation", {"r2": np.full(3, np.nan), "f1": np.zeros(0)})) == 0


def table(layers: int, bases: tuple[str, ...] = BASES) -> pa.Table:
    return pa.concat_tables(
        control_rows(layer, basis, model, {R2_BEYOND: RNG.normal(0.1 * layer, 0.02, 50), "r2": np.ones(50)})
        for layer in range(1, layers + 1)
        for basis in bases
        for model in ("activation", "winners")
    )


def test_the_figure_shows_each_basis_and_there_is_none_without_an_activation_model() -> None:
    for controls in (table(1), table(2, ("neurons", "shuffled")), table(48)):
        figure = control_figures(controls)["controls"]
        check_print(figure)
        check_inside(figure)
    rows = [
        r
        for r in controls.to_pylist()
        if (r["basis"], r["model"], r["measure"]) == ("rotated", "activation", R2_BEYOND)
    ]
    line = figure.axes[0].lines[BASES.index("rotated")]
    assert line.get_label() == "axes of a random rotation"
    np.testing.assert_allclose(np.asarray(line.get_ydata()), [row["q50"] for row in rows])
    assert control_figures(control_rows(1, "neurons", "winners", {"f1": np.ones(3)})) == {}
