import numpy as np
import pytest
from matplotlib.text import Text

from ops.figures.maps import heat_map, label_points, largest, scatter
from ops.figures.panels import panels
from ops.figures.style import COLOURS, PALE


@pytest.mark.parametrize("crowded", [False, True])
def test_labels_of_points_stand_next_to_them_and_never_on_each_other(crowded: bool) -> None:
    apart = np.stack(np.meshgrid([-1.5, -0.5, 0.5, 1.5], [-1.5, -0.5, 0.5, 1.5]), -1).reshape(-1, 2)
    points = np.random.default_rng(0).normal(size=(16, 2)) * 0.5 if crowded else apart
    figure, (panel,) = panels([], "words")
    panel.set(xlim=(-2.5, 2.5), ylim=(-2.5, 2.5))
    label_points(panel, points, [f"word {i}" for i in range(16)])
    figure.draw_without_rendering()
    assert [tuple(text.xy) for text in panel.texts] == [tuple(point) for point in points]  # type: ignore[attr-defined]
    boxes = [Text.get_window_extent(text) for text in panel.texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
    inside = panel.get_window_extent()
    assert all(inside.x0 <= box.x0 and box.x1 <= inside.x1 for box in boxes)


def test_the_largest_groups_have_colours_and_all_other_points_are_grey() -> None:
    groups = [i for i in range(10) for _ in range(i + 1)] + [None]
    named = largest(groups)
    assert list(named) == [9, 8, 7, 6, 5, 4, 3]
    _, (panel,) = panels([], "groups")
    scatter(panel, np.random.default_rng(0).normal(size=(len(groups), 2)), groups, named)
    assert [len(own.get_offsets()) for own in panel.collections] == [7, 10, 9, 8, 7, 6, 5, 4]
    _, (same,) = panels([], "colours")
    expected = [same.scatter([0], [0], color=colour).get_facecolor()[0, :3] for colour in (PALE, *COLOURS)]
    np.testing.assert_allclose([own.get_facecolor()[0, :3] for own in panel.collections], expected)


def test_a_heat_map_writes_its_numbers_and_leaves_unknown_cells_empty() -> None:
    _, (panel,) = panels([], "numbers")
    heat_map(panel, np.array([[0.004, np.nan], [-0.001, 16.05]]), 0, 1, digits=2)
    assert [(text.get_position(), text.get_text()) for text in panel.texts] == [
        ((0, 0), "0.00"), ((0, 1), "0.00"), ((1, 1), "16.05"),
    ]  # fmt: skip
