import numpy as np
import pyarrow as pa
import pytest

from ops.mixing.decomposition import quantities
from ops.mixing.figures import draw_attention_norms, draw_lengths, draw_ratios, draw_residual_norms
from ops.mixing.partial_file import Totals
from ops.mixing.shard import CLASS, LENGTH
from ops.mixing.tables import mixing_tables
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


def test_figures_can_be_printed_and_panels_have_one_scale() -> None:
    found = tables(True, 12, TOKENS | {"sep": 1_070, "mask": 8_765, "punct": 9_876})
    heat = draw_ratios(found["mixing/ratios"], "some-model")
    lengths = draw_lengths(found["mixing/lengths"], "some-model")
    norms = draw_residual_norms(found["mixing/norms"], "some-model")
    attention = draw_attention_norms(found["mixing/norms"], "some-model")
    for figure in (heat, lengths, norms, attention):
        check_print(figure, "some-model")
        check_inside(figure)
    assert len({axes.images[0].get_clim() for axes in heat.axes if axes.images}) == 1


@pytest.mark.parametrize("normalised", [True, False])
def test_the_heat_map_shows_the_table(normalised: bool) -> None:
    ratios = tables(normalised)["mixing/ratios"]
    figure = draw_ratios(ratios, "some-model")
    panels = [axes for axes in figure.axes if axes.images]
    assert len(panels) == (3 if normalised else 2)
    values = {(r["layer"], r["stage"], r["token_class"]): r["mean"] for r in ratios.to_pylist()}
    shown = np.asarray(panels[1].images[0].get_array())
    expected = [[values[layer, "attn_res", c] * 100 for c in ("all", "cls", "other")] for layer in (1, 2, 3)]
    np.testing.assert_allclose(shown, expected, rtol=1e-5)


@pytest.mark.parametrize("normalised", [True, False])
def test_the_lines_show_the_tables(normalised: bool) -> None:
    norms = tables(normalised)["mixing/norms"]
    figure = draw_attention_norms(norms, "m")
    values = {(r["layer"], r["quantity"], r["token_class"]): r["mean"] for r in norms.to_pylist()}
    cls = figure.axes[1]
    assert cls.get_title() == "[CLS], 70 tokens"
    expected = [values[layer, "attn_mixing", "cls"] for layer in (1, 2, 3)]
    np.testing.assert_allclose(np.asarray(cls.lines[0].get_ydata()), expected, rtol=1e-6)
    figure = draw_residual_norms(norms, "m")
    assert len(figure.axes) == 3
    assert [len(panel.lines) for panel in figure.axes] == [2 if normalised else 1] * 3
    expected = [values[layer, "residual", "all"] for layer in (1, 2, 3)]
    np.testing.assert_allclose(np.asarray(figure.axes[0].lines[0].get_ydata()), expected, rtol=1e-6)


def test_a_model_that_mixes_nothing_is_drawn_too() -> None:
    lengths = tables(True)["mixing/lengths"]
    zeros = pa.array(np.zeros(lengths.num_rows, np.float32))
    for name in ("mean", "std"):
        lengths = lengths.set_column(lengths.column_names.index(name), name, zeros)
    assert {panel.get_yscale() for panel in draw_lengths(lengths, "m").axes} == {"linear"}
