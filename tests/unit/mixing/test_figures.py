import numpy as np
import pyarrow as pa
import pytest

from ops.mixing.decomposition import quantities
from ops.mixing.figures import lengths_figure, mixing_figures
from ops.mixing.shard import CLASS, LENGTH
from ops.mixing.tables import Totals, mixing_tables
from ops.mixing.token_classes import CLASSES
from ops.reducers.grouped_moments import GroupedMoments
from tests.unit.figure_letters import check_inside, check_print

TOKENS = {"cls": 70, "other": 2_000_000}


def tables(normalised: bool, layers: int = 3, classes: dict[str, int] = TOKENS) -> dict[str, pa.Table]:
    names = quantities(normalised)
    rng = np.random.default_rng(0)

    def moments(tokens: dict[int, int]) -> GroupedMoments:
        ids, n = np.array(sorted(tokens)), np.array([tokens[group] for group in sorted(tokens)])
        mean = rng.random((len(ids), layers * len(names)))
        return GroupedMoments(ids, n, mean, n[:, None] * mean**2 / 9)

    totals: Totals = {
        CLASS: moments({CLASSES.index(name): n for name, n in classes.items()}),
        LENGTH: moments({length: length * 10 for length in range(3, 60)}),
    }
    return mixing_tables(totals, layers, names)


def test_figures_can_be_read_and_show_the_tables() -> None:
    found = tables(True, 12, TOKENS | {"sep": 1_070, "mask": 8_765, "punct": 9_876})
    for figure in mixing_figures(found).values():
        check_print(figure)
        check_inside(figure)


@pytest.mark.parametrize("normalised", [True, False])
def test_panels_show_the_tables_and_what_a_model_lacks_is_left_out(normalised: bool) -> None:
    found = tables(normalised)
    figures = mixing_figures(found)
    heat = figures["ratios"].axes
    assert len(heat) == (3 if normalised else 2)
    assert len({axes.images[0].get_clim() for axes in heat}) == 1
    values = {(r["layer"], r["stage"], r["token_class"]): r["mean"] for r in found["mixing/ratios"].to_pylist()}
    expected = [[values[layer, "attn_res", c] * 100 for c in ("all", "cls", "other")] for layer in (1, 2, 3)]
    np.testing.assert_allclose(np.asarray(heat[1].images[0].get_array()), expected, rtol=1e-5)
    values = {(r["layer"], r["quantity"], r["token_class"]): r["mean"] for r in found["mixing/norms"].to_pylist()}
    for name, quantity, place, token_class in (
        ("attention", "attn_mixing", 1, "cls"),
        ("residual", "residual", 0, "all"),
    ):
        panels = [axes for axes in figures[f"norms_{name}"].axes if axes.axison]
        assert [len(axes.lines) for axes in panels] == [1 if name == "residual" and not normalised else 2] * 3
        expected_line = [values[layer, quantity, token_class] for layer in (1, 2, 3)]
        np.testing.assert_allclose(np.asarray(panels[place].lines[0].get_ydata()), expected_line, rtol=1e-6)


def test_a_model_that_mixes_nothing_is_drawn_too() -> None:
    lengths = tables(True)["mixing/lengths"]
    zeros = pa.array(np.zeros(lengths.num_rows, np.float32))
    for name in ("mean", "std"):
        lengths = lengths.set_column(lengths.column_names.index(name), name, zeros)
    assert {panel.get_yscale() for panel in lengths_figure(lengths).axes} == {"linear"}
