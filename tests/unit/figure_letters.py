"""Whether a figure can be printed: its width, the size of its letters, whether its title fits and labels are apart."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from ops.figures import COLUMN, LETTERS, PAGE


def smallest_letters(figure: Figure) -> float:
    """Return the size of the smallest letters that show, in points."""
    return min(t.get_fontsize() for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip())


def check_print(figure: Figure, model: str) -> None:
    """Check a figure for print: the width of a column or a page, letters large enough, a title that fits, the model."""
    FigureCanvasAgg(figure).draw()
    assert any(figure.get_figwidth() == pytest.approx(width) for width in (COLUMN, PAGE))
    assert smallest_letters(figure) >= LETTERS
    titles = [t for t in figure.findobj(Text) if model in t.get_text()]
    assert titles
    for title in titles:
        box = title.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1
    for legend in figure.legends:
        covered = legend.get_window_extent()
        assert not any(covered.overlaps(axes.get_window_extent()) for axes in figure.axes)
    headings = [axes.title.get_window_extent() for axes in figure.axes if axes.get_title()]
    assert not any(a.overlaps(b) for i, a in enumerate(headings) for b in headings[i + 1 :]), "titles of panels touch"
    named = [axis.label for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) if axis.label.get_text()]
    spaces = [label.get_window_extent() for label in named]
    assert not any(a.overlaps(b) for i, a in enumerate(spaces) for b in spaces[i + 1 :]), "names of axes touch"
    drawn = [axes for axes in figure.axes if axes.axison]
    assert all(axes.has_data() for axes in drawn), "a panel is empty"
    assert any(axes.get_xlabel() for axes in drawn), "no axis says what it shows"
    assert any(axes.get_ylabel() or axes.yaxis.get_ticklabels() for axes in drawn)
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            labels = [t for t in axis.get_ticklabels("both") if t.get_visible() and t.get_text()]
            boxes = [label.get_window_extent() for label in labels]
            shown = [box for box in boxes if box.width and axes.axison]
            assert not any(a.overlaps(b) for i, a in enumerate(shown) for b in shown[i + 1 :]), "labels of ticks touch"


def check_inside(figure: Figure) -> None:
    """Check that every point of every line is inside its panel."""
    for axes in figure.axes:
        (left, right), (bottom, top) = sorted(axes.get_xlim()), sorted(axes.get_ylim())
        for line in axes.lines:
            if not line.get_transform().contains_branch(axes.transData):
                continue
            x, y = (np.asarray(values, float) for values in (line.get_xdata(), line.get_ydata()))
            there = np.isfinite(x) & np.isfinite(y)
            assert ((x[there] >= left) & (x[there] <= right)).all()
            assert ((y[there] >= bottom) & (y[there] <= top)).all()
