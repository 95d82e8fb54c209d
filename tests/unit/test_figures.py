from pathlib import Path

import matplotlib
import matplotlib.image
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from ops.figures import (
    COLUMN,
    LETTERS,
    distinct_lines,
    figure_files,
    for_print,
    label_outer,
    label_points,
    panels,
    save_figure,
    save_figures,
)
from ops.storage.store import Store
from tests.unit.figure_letters import smallest_letters


@pytest.mark.parametrize(("count", "columns"), [(1, 1), (3, 3), (4, 4), (5, 3), (6, 3), (12, 4)])
def test_panels_are_named_at_the_left_and_at_the_bottom(count: int, columns: int) -> None:
    figure, found = panels(count, "all of them")
    label_outer(found, "rank", "psi")
    assert len(found) == sum(axes.axison for axes in figure.axes) == count
    assert [i for i, axes in enumerate(found) if axes.get_ylabel() == "psi"] == list(range(0, count, columns))
    assert [i for i, axes in enumerate(found) if axes.get_xlabel() == "rank"] == list(range(count))[-columns:]


def test_each_kind_of_file_with_letters_as_letters_and_the_same_bytes_again(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    for name in ("a", "b"):
        figure, (axes, _) = panels(2, "two of them")
        axes.plot([1, 3, 10], label="a line")
        axes.legend()
        save_figure(store, f"figures/{name}", figure)
    assert store.files("figures") == [f"{name}.{end}" for name in "ab" for end in ("pdf", "png", "svg")]
    for end in ("png", "svg", "pdf"):
        assert (tmp_path / f"figures/a.{end}").read_bytes() == (tmp_path / f"figures/b.{end}").read_bytes()
    assert matplotlib.image.imread(tmp_path / "figures/a.png").std() > 0.01
    drawn = (tmp_path / "figures/a.svg").read_text()
    assert "<svg" in drawn
    assert ">two of them</text>" in drawn
    assert b"/Type /Font" in (tmp_path / "figures/a.pdf").read_bytes()


def test_several_are_drawn_with_one_size_of_letters(tmp_path: Path) -> None:
    def draw() -> Figure:
        figure = Figure()
        sizes.append(figure.subplots().set_title("a title").get_fontsize())
        return figure

    sizes: list[float] = []
    names = save_figures(Store(str(tmp_path)), "figures", {"a": draw, "b": draw})
    assert names == [*figure_files("figures/a"), *figure_files("figures/b")]
    assert all((tmp_path / name).stat().st_size for name in names)
    with matplotlib.rc_context({"font.size": 9}):
        expected = Figure().subplots().set_title("a title").get_fontsize()
    assert sizes == [expected, expected]
    assert expected != Figure().subplots().set_title("a title").get_fontsize()


def test_a_figure_for_print_has_no_letter_too_small_when_it_is_saved(tmp_path: Path) -> None:
    @for_print
    def draw() -> Figure:
        figure = Figure(figsize=(COLUMN, 2))
        axes = figure.subplots()
        axes.plot([1, 10, 100], label="a line")
        axes.set(yscale="log", title="a", xlabel="x")
        axes.legend()
        return figure

    figure = draw()
    with matplotlib.rc_context({"font.size": 4}):
        save_figure(Store(str(tmp_path)), "a", figure)
    assert smallest_letters(figure) >= LETTERS
    width = matplotlib.image.imread(tmp_path / "a.png").shape[1]
    assert width == pytest.approx(85 / 25.4 * 300, abs=2)


@pytest.mark.parametrize("crowded", [False, True])
def test_labels_of_points_stand_next_to_them_and_never_on_each_other(crowded: bool) -> None:
    apart = np.stack(np.meshgrid([-1.5, -0.5, 0.5, 1.5], [-1.5, -0.5, 0.5, 1.5]), -1).reshape(-1, 2)
    points = np.random.default_rng(0).normal(size=(16, 2)) * 0.1 if crowded else apart
    figure = Figure(figsize=(COLUMN, COLUMN))
    panel = figure.subplots()
    panel.scatter(*points.T)
    panel.set(xlim=(-2.5, 2.5), ylim=(-2.5, 2.5))
    label_points(panel, points, [f"word {i}" for i in range(16)], lines=points.reshape(-1, 2, 2) if crowded else None)
    figure.draw_without_rendering()
    assert [tuple(text.xy) for text in panel.texts] == [tuple(point) for point in points]
    boxes = [Text.get_window_extent(text) for text in panel.texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
    inside = panel.get_window_extent()
    assert all(inside.x0 <= box.x0 and box.x1 <= inside.x1 for box in boxes)
    led = [text.arrow_patch is not None and text.arrow_patch.get_visible() for text in panel.texts]
    assert any(led) == crowded, "a line leads to a text that stands further away"


def test_numbers_are_written_onto_their_points_where_there_is_room() -> None:
    figure = Figure(figsize=(COLUMN, COLUMN))
    panel = figure.subplots()
    panel.set(xlim=(0, 1), ylim=(0, 1))
    label_points(panel, np.array([[0.2, 0.2], [0.8, 0.8], [0.8, 0.8]]), ["1", "2", "3"], halo=True)
    first, second, third = (text.get_position() for text in panel.texts)
    assert first == second == (0, 0)
    assert third != (0, 0)


def test_lines_without_an_order_are_all_different() -> None:
    looks = [(line["color"], line["linestyle"]) for line in distinct_lines(28)]
    assert len(set(looks)) == 28
    assert len({colour for colour, _ in looks[:7]}) == 7
