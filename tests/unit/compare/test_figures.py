import numpy as np
import pyarrow as pa
import pytest

from ops.compare.dimension_figures import draw_distances, draw_units
from ops.compare.diversity_figures import curves_figure
from ops.compare.group_figures import draw_maps, draw_quality
from ops.compare.match_figures import universal_figure
from ops.compare.neighbour_figures import nearest_figure
from ops.compare.run_score_figures import SHOWN, distributions_figure, shares_figure
from ops.compare.run_scores import Values, compared_rows
from ops.compare.shift_figures import shift_figure
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
    figure = draw_units({"neurons:mean": values}, (5, 9))
    shown = np.asarray(figure.axes[0].images[0].get_array())
    expected = (values - values.mean(1, keepdims=True)) / values.std(1, keepdims=True)
    np.testing.assert_allclose(shown, expected[:, 5:10])
    assert "Units 5 to 9" in figure.get_suptitle()
    assert figure.axes[0].get_title() == "mean activation"
    # If the range is beyond the layer, its last units are shown.
    assert "Units 35 to 39" in draw_units({"neurons:mean": values}, (301, 305)).get_suptitle()
    assert "Units 0 to 39" in draw_units({"neurons:mean": values}, (301, 350)).get_suptitle()


def test_agreement_is_drawn_by_how_far_layers_are_apart() -> None:
    panel = draw_distances(rotated()).axes[0]
    np.testing.assert_allclose(np.asarray(panel.lines[0].get_xydata()), [[1, 1], [2, 0.5]])
    np.testing.assert_allclose(np.asarray(panel.lines[1].get_ydata()), [0.3, 0.3], rtol=1e-6)


def test_curves_show_error_per_winner_and_over_uniform_sentences() -> None:
    left, right = curves_figure(diversity(2, (1, 10)), "m").axes
    np.testing.assert_allclose(np.asarray(left.lines[0].get_xydata()), [[1, 2], [10, 0.2]], rtol=1e-6)
    np.testing.assert_allclose(np.asarray(right.lines[1].get_ydata()), [1, 1])


def test_maps_show_the_chosen_layer_and_quality_leaves_out_what_is_undefined() -> None:
    place = {"group": 1, "x": 0.5, "y": 1.5}
    tables = {
        "compare/groups": table("compare/groups", [{"layer": i, "unit": 0, **place} for i in (1, 2, 2)]),
        "compare/joint_groups": table("compare/joint_groups", [{"layer": i, "unit": 0, **place} for i in (1, 2)]),
        "compare/sentence_groups": table("compare/sentence_groups", [{"layer": 2, "sent_id": 7, **place}]),
    }
    panels = draw_maps(tables, 2).axes
    assert [panel.get_title() for panel in panels] == [
        "2 neurons of layer 2", "2 neurons of all layers", "1 sentences by layer 2",
    ]  # fmt: skip
    own = {"layer": 1, "groups": 2, "n": 5, "rand_index": 0.5, "rand_index_of_shuffled": 0.1}
    rows: list[dict[str, object]] = [
        {**own, "grouped": "neurons", "silhouette": 0.25, "silhouette_of_shuffled": None},
        {**own, "grouped": "sentences", "silhouette": 0.5, "silhouette_of_shuffled": 0.1},
        {**own, "layer": 0, "grouped": "neurons", "silhouette": 0.9, "silhouette_of_shuffled": 0.9},
    ]
    lines = draw_quality(table("compare/group_quality", rows)).axes[0].lines
    assert np.asarray(lines[0].get_ydata()).tolist() == [0.25]
    assert np.isnan(np.asarray(lines[1].get_ydata())).all()


@pytest.mark.parametrize("reaches", [("within", "across"), ("within",)])
def test_nearest_neurons_stand_beside_their_nulls(reaches: tuple[str, ...]) -> None:
    panels = nearest_figure(nearest(2, reaches)).axes
    assert len(panels) == 2 * len(reaches)
    assert [len(panel.lines) for panel in panels[:2]] == [3, 2]


def test_shifts_have_a_bar_a_text_set_and_a_line_over_layers() -> None:
    panels = shift_figure(shifts(2, ("a", "b")), "m", "other").axes
    assert [patch.get_height() for patch in panels[0].patches] == [2, 2]
    assert [np.asarray(line.get_ydata()).tolist() for line in panels[1].lines] == [[2, 2], [2, 2]]
    assert len(panels[1].collections) == 2, "a band each"
    panels = shift_figure(shifts(2, tuple("abcdefghij")), "m", "other").axes
    assert (len(panels[0].patches), len(panels[1].lines)) == (10, 6)


def test_figures_can_be_printed() -> None:
    properties = {f"means:words_per_sentence:{i}": RNG.normal(size=(12, UNITS)) for i in range(4)}
    far = ("neurons:mean", "neurons:std", "means:words_per_sentence:top", "means:verbs_per_sentence:top")
    own = {"n": 5, "rand_index": 0.5, "rand_index_of_shuffled": 0.1, "silhouette": 0.5, "silhouette_of_shuffled": 0.1}
    quality: list[dict[str, object]] = [
        {"layer": 1, "groups": number, "grouped": grouped, **own}
        for grouped in ("neurons", "sentences")
        for number in (2, 5, 10, 15, 20, 30)
    ]
    spots = [{"layer": i % 2 + 1, "unit": i, "group": i % 20, "x": RNG.normal(), "y": RNG.normal()} for i in range(200)]
    sentences = [{"sent_id": spot["unit"], **{k: spot[k] for k in ("layer", "group", "x", "y")}} for spot in spots]
    groups = {
        "compare/groups": table("compare/groups", [dict(spot) for spot in spots]),
        "compare/joint_groups": table("compare/joint_groups", [dict(spot) for spot in spots]),
        "compare/sentence_groups": table("compare/sentence_groups", sentences),
    }
    for figure in (
        draw_units(properties, (5, 35), "some-model"),
        draw_maps(groups, 2, "some-model"),
        draw_distances(rotated(12, far), "some-model"),
        curves_figure(diversity(12, (1, 2, 5, 10, 20, 50, 100)), "some-model"),
        draw_quality(table("compare/group_quality", quality), "some-model"),
        nearest_figure(nearest(12, ("within", "across")), "some-model"),
        shift_figure(shifts(12, ("news train", "news test", "tweets", "another set of texts")), "some-model", "other"),
    ):
        check_print(figure, "some-model")
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
    figure = distributions_figure(pairs, "some-model", "rotated directions of some-model")
    own, control = pairs[SHOWN[0]]
    medians = {
        (round(float(np.mean(line.get_xdata())), 1), float(np.asarray(line.get_ydata())[0]))
        for line in figure.axes[0].lines
        if np.ptp(np.asarray(line.get_ydata())) == 0
    }
    for values, aside in ((own, -0.2), (control, 0.2)):
        for layer in (1, 2, 3):
            assert (layer + aside, np.median(values.of_layer(layer).value)) in medians
    shares = shares_figure(rows, "some-model", "rotated directions of some-model")
    expected = [row["share_above"] for row in rows.to_pylist()[:3] if row["layer"]]
    drawn = shares.axes[0].lines[0].get_ydata()
    np.testing.assert_allclose(np.asarray(drawn)[: len(expected)], expected)
    for one in (figure, shares):
        check_print(one, "some-model")
        check_inside(one)


@pytest.mark.parametrize("rotated", [True, False])
def test_matches_are_drawn_next_to_rotated_layers(rotated: bool) -> None:
    rows: list[dict[str, object]] = [
        {"layer": layer, "threshold": i / 10, "n": 9, "correlated": 1 - i / 10}
        | {"share": 0.5 - i / 20 if rotated else None, "rotated": 0.75 - i / 20 if rotated else None}
        for layer in (*range(1, 31), None)
        for i in range(10)
    ]
    figure = universal_figure(table("compare/universal", rows), "some-model", "rotated directions of some-model")
    lines = [np.asarray(line.get_ydata()) for line in figure.axes[0].lines]
    np.testing.assert_allclose(lines[0], 1 - np.arange(10) / 10)
    assert len(lines) == 1 + rotated
    assert len(figure.axes) == 1 + rotated
    if rotated:
        np.testing.assert_allclose(np.asarray(figure.axes[1].lines[3].get_ydata()), 0.5 - np.arange(10) / 20)
    check_print(figure, "some-model")
    check_inside(figure)
