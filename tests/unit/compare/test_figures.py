import numpy as np
import pyarrow as pa
import pytest

from ops.compare.figures import (
    SHOWN,
    agreement_figure,
    diversity_figure,
    groups_figure,
    matches_figure,
    nearest_figure,
    quality_figure,
    run_figures,
    shift_figure,
    units_figures,
)
from ops.compare.run_scores import Values, compared_rows
from ops.schema import schema
from tests.unit.figure_letters import check_inside, check_print

RNG = np.random.default_rng(0)
LAYERS, UNITS = 3, 40


def table(name: str, rows: list[dict[str, object]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema(name))


NULL = {"rotated_mean": 0.3, "rotated_low": 0.1, "rotated_high": 0.4, "rotations": 9, "p_value": 0.5, "q_value": 0.6}


def rotated(layers: int = LAYERS, properties: tuple[str, ...] = ("neurons:mean",)) -> pa.Table:
    rows: list[dict[str, object]] = [
        {"property": name, "layer_a": a, "layer_b": b, "correlation": 1 / (b - a), **NULL}
        for name in properties
        for a in range(1, layers)
        for b in range(a + 1, layers + 1)
    ]
    return table("compare/rotated", rows)


def diversity(layers: int, clusters: tuple[int, ...]) -> pa.Table:
    rows: list[dict[str, object]] = [
        {"layer": layer, "clusters": k, "sse": 60.0 * layer / k, "n": 30, "n_distinct": 20, "seed": 0}
        | {"sse_per_point": 2.0 * layer / k, "sse_of_uniform": 120.0 / k}
        for layer in range(1, layers + 1)
        for k in clusters
    ]
    return table("compare/diversity", rows)


def nearest(layers: int, reaches: tuple[str, ...]) -> pa.Table:
    names = [n for n in schema("compare/nearest").names if n not in ("layer", "reach", "n")]
    rows: list[dict[str, object]] = [
        {"layer": layer, "reach": reach, "n": 5, **{name: 0.1 * i for i, name in enumerate(names)}}
        for layer in range(1, layers + 1)
        for reach in reaches
    ]
    return table("compare/nearest", rows)


def shifts(layers: int, text_sets: tuple[str, ...]) -> pa.Table:
    ends = {f"{d}_{end}": value for d in ("manhattan", "euclidean") for end, value in (("low", 1.0), ("high", 3.0))}
    rows: list[dict[str, object]] = [
        {"text_set": name, "layer": layer, "n": 5, "manhattan": 2.0, "euclidean": 1.5, **ends}
        for name in text_sets
        for layer in range(layers + 1)
    ]
    return table("compare/shift_layers", rows)


def test_the_heat_map_shows_the_units_asked_for_standardised_in_their_layer() -> None:
    values = RNG.normal(size=(LAYERS, UNITS)) * [[1], [10], [100]]
    widths = (UNITS,) * LAYERS
    figure = units_figures({"neurons:mean": values.ravel()}, widths, (5, 9))["units"]
    shown = np.asarray(figure.axes[0].images[0].get_array())
    expected = (values - values.mean(1, keepdims=True)) / values.std(1, keepdims=True)
    np.testing.assert_allclose(shown, expected[:, 5:10])
    assert "Units 5 to 9" in figure.get_suptitle()
    assert figure.axes[0].get_title() == "mean activation"
    # If the range is beyond the layer, its last units are shown.
    for units, title in (((301, 305), "Units 35 to 39"), ((301, 350), "Units 0 to 39")):
        assert title in units_figures({"neurons:mean": values.ravel()}, widths, units)["units"].get_suptitle()
    assert units_figures({"neurons:mean": values.ravel()}, (UNITS, 2 * UNITS), (5, 9)) == {}, "layers of other widths"


def test_agreement_is_drawn_by_how_far_layers_are_apart() -> None:
    lines = agreement_figure(rotated()).axes[0].lines
    np.testing.assert_allclose(np.asarray(lines[0].get_xydata()), [[1, 1], [2, 0.5]])
    np.testing.assert_allclose(np.asarray(lines[1].get_ydata()), [0.3, 0.3], rtol=1e-6)


def groups(number: int) -> dict[str, pa.Table]:
    own = {"n": 5, "rand_index": 0.5, "rand_index_of_shuffled": 0.1, "silhouette": 0.25}
    quality: list[dict[str, object]] = [
        {"layer": layer, "groups": k, "grouped": grouped, **own}
        | {"silhouette_of_shuffled": None if grouped == "neurons" else 0.1, "rand_index": 0.9 if layer == 0 else 0.5}
        for layer in (0, 1)
        for grouped in ("neurons", "sentences")
        for k in (2, 5, 10, 15, 20, 30)
    ]
    spots = [
        {"layer": i % 2 + 1, "unit": i, "sent_id": i, "group": i % number, "x": RNG.normal(), "y": RNG.normal()}
        for i in range(199)
    ]
    names = {"compare/groups": "unit", "compare/joint_groups": "unit", "compare/sentence_groups": "sent_id"}
    maps = {
        name: table(name, [{k: spot[k] for k in ("layer", key, "group", "x", "y")} for spot in spots])
        for name, key in names.items()
    }
    return {**maps, "compare/group_quality": table("compare/group_quality", quality)}


def test_maps_show_the_chosen_layer_and_colour_the_largest_groups() -> None:
    figure = groups_figure(groups(20), 2)
    neurons, joint, sentences = figure.axes
    titles = [" ".join(axes.get_title().split()) for axes in (neurons, joint, sentences)]
    assert titles[:2] == ["99 neurons of layer 2, 10 groups", "199 neurons of all layers, 20 groups"]
    grey, *coloured = (len(own.get_offsets()) for own in joint.collections)
    assert coloured == [10] * 7
    assert grey == 199 - 70
    assert [text.get_text() for text in joint.texts] == [str(number) for number in range(7)]
    check_print(figure)


def test_quality_is_a_mean_over_layers_and_leaves_out_what_is_undefined() -> None:
    figure = quality_figure(groups(3)["compare/group_quality"])
    axes = figure.axes
    assert [len(panel.lines) for panel in axes] == [2] * 4
    assert np.asarray(axes[0].lines[0].get_ydata()).tolist() == [0.25] * 6
    assert np.isnan(np.asarray(axes[0].lines[1].get_ydata(), float)).all()
    assert np.asarray(axes[2].lines[0].get_ydata()).tolist() == [0.5] * 6, "layer 0 is all layers together"
    check_print(figure)
    check_inside(figure)


def test_shifts_have_a_point_for_each_text_set_and_lines_for_those_that_moved_most() -> None:
    panels = shift_figure(shifts(2, tuple("abcdefghij")), "m", "other").axes
    assert np.asarray(panels[0].lines[0].get_ydata()).tolist() == [2] * 10
    assert [np.asarray(line.get_ydata()).tolist() for line in panels[1].lines] == [[2, 2]] * 6
    assert len(panels[1].collections) == 6, "a band each"


def test_figures_can_be_read() -> None:
    values = RNG.normal(size=(12 * UNITS))
    properties = {f"means:{kind}_per_sentence:top": values for kind in ("words", "verbs", "nouns")}
    far = ("neurons:mean", "neurons:std", "means:words_per_sentence:top", "means:verbs_per_sentence:top")
    texts = ("news train", "news test", "tweets", "another set of texts")
    figures = [
        *units_figures(properties, (UNITS,) * 12, (5, 35)).values(),
        agreement_figure(rotated(12, far)),
        diversity_figure(diversity(12, (1, 2, 5, 10, 20, 50, 100))),
        nearest_figure(nearest(12, ("within", "across"))),
        shift_figure(shifts(12, texts), "some-model", "other"),
    ]
    assert [len(axes.lines) for axes in figures[2].axes] == [2 * 12, 12 + 1], "with the uniform sample"
    assert [len(axes.lines) for axes in figures[3].axes] == [3, 2] * 2, "the nearest neuron and its nulls"
    for figure in figures:
        check_print(figure)
        check_inside(figure)


def scored(shift: float, layers: range) -> Values:
    layer = np.repeat(np.array(layers), 30)
    return Values(layer, np.arange(len(layer)), RNG.normal(shift, 1, len(layer)))


def test_scores_stand_next_to_the_control_s_layer_by_layer() -> None:
    pairs = {key: (scored(1, range(1, 4)), scored(0, range(1, 4))) for key in SHOWN}
    rows = pa.concat_tables(
        compared_rows(table_name, *({measure: values} for values in pair), (1, 2, 3), 20, (0,))
        for (table_name, measure), pair in pairs.items()
    )
    figures = run_figures(rows, pairs, "some-model", "rotated directions of some-model")
    assert [len(axes.lines) for axes in figures["distributions"].axes] == [2] * len(SHOWN)
    expected = [row["share_above"] for row in rows.to_pylist()[:4] if row["layer"]]
    np.testing.assert_allclose(np.asarray(figures["shares"].axes[0].lines[0].get_ydata()), expected)
    assert [text.get_text()[:4] for text in figures["shares"].legends[0].get_texts()] == ["some", "5 %:"]
    for one in figures.values():
        check_print(one)
        check_inside(one)


@pytest.mark.parametrize("rotated", [True, False])
def test_matches_are_drawn_next_to_rotated_layers(rotated: bool) -> None:
    rows: list[dict[str, object]] = [
        {"layer": layer, "threshold": i / 10, "n": 9, "correlated": 1 - i / 10}
        | {"share": 0.5 - i / 20 if rotated else None, "rotated": 0.75 - i / 20 if rotated else None}
        for layer in (*range(1, 31), None)
        for i in range(10)
    ]
    universal = table("compare/universal", rows)
    figure = matches_figure(universal, "some-model", "rotated directions of some-model")
    lines = [np.asarray(line.get_ydata()) for line in figure.axes[0].lines]
    np.testing.assert_allclose(lines[0], 1 - np.arange(10) / 10)
    assert len(lines) == len(figure.axes) == 1 + rotated
    if rotated:
        np.testing.assert_allclose(np.asarray(figure.axes[1].lines[3].get_ydata()), 0.5 - np.arange(10) / 20)
    check_print(figure)
    check_inside(figure)
