from pathlib import Path

import matplotlib
import matplotlib.image
import pytest
from matplotlib.figure import Figure

from ops.figures import label_outer, panels, save_figure, save_figures
from ops.storage.store import Store


@pytest.mark.parametrize(("count", "columns"), [(1, 1), (3, 3), (4, 4), (5, 4), (6, 3), (12, 4)])
def test_panels_are_named_at_the_left_and_at_the_bottom(count: int, columns: int) -> None:
    figure, found = panels(count, "all of them")
    label_outer(found, "rank", "psi")
    assert len(found) == sum(axes.axison for axes in figure.axes) == count
    assert [i for i, axes in enumerate(found) if axes.get_ylabel() == "psi"] == list(range(0, count, columns))
    assert [i for i, axes in enumerate(found) if axes.get_xlabel() == "rank"] == list(range(count))[-columns:]


def test_both_files_and_the_same_bytes_again(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    for name in ("a", "b"):
        figure, (axes, _) = panels(2, "two of them")
        axes.plot([1, 3, 10], label="a line")
        axes.legend()
        save_figure(store, f"figures/{name}", figure)
    assert store.files("figures") == ["a.png", "a.svg", "b.png", "b.svg"]
    for end in ("png", "svg"):
        assert (tmp_path / f"figures/a.{end}").read_bytes() == (tmp_path / f"figures/b.{end}").read_bytes()
    assert matplotlib.image.imread(tmp_path / "figures/a.png").std() > 0.01
    assert "<svg" in (tmp_path / "figures/a.svg").read_text()


def test_several_are_drawn_with_one_size_of_letters(tmp_path: Path) -> None:
    def draw() -> Figure:
        figure = Figure()
        sizes.append(figure.subplots().set_title("a title").get_fontsize())
        return figure

    sizes: list[float] = []
    names = save_figures(Store(str(tmp_path)), "figures", {"a": draw, "b": draw})
    assert names == ["figures/a.png", "figures/a.svg", "figures/b.png", "figures/b.svg"]
    assert all((tmp_path / name).stat().st_size for name in names)
    with matplotlib.rc_context({"font.size": 9}):
        expected = Figure().subplots().set_title("a title").get_fontsize()
    assert sizes == [expected, expected]
    assert expected != Figure().subplots().set_title("a title").get_fontsize()
