"""Whether a figure can be read: its letters on a phone, its colours, whether its title fits and labels are apart."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text

from ops.figures.style import GROUND, WIDTH, titled

MODEL = "all-MiniLM-L6-v2, random weights (seed 0)"  # as `save_figures` adds it to titles
PHONE, READABLE = 340, 7.4  # pixels: the width of a figure on a phone, and the least size of letters


def check_print(figure: Figure) -> None:
    """Check that a figure has its width, an opaque light ground, letters that a phone shows, and nothing overlaps."""
    figure.suptitle(titled(figure.get_suptitle(), MODEL))
    FigureCanvasAgg(figure).draw()
    assert figure.get_figwidth() == pytest.approx(WIDTH)
    assert to_hex(figure.get_facecolor()).upper() == GROUND
    letters = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
    pixels_a_point = PHONE / (72 * figure.get_figwidth())
    assert min(t.get_fontsize() for t in letters) * pixels_a_point >= READABLE
    (title,) = (text for text in letters if text.get_text() == figure.get_suptitle())
    box = title.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1
    outside = [legend.get_window_extent() for legend in figure.legends]
    for box in outside:
        assert not any(box.overlaps(axes.get_tightbbox()) for axes in figure.axes), "a legend covers a panel"
    drawn_axes = [axes for axes in figure.axes if axes.axison]
    check_apart([axes.title for axes in drawn_axes], "titles of panels")
    check_apart([axis.label for axes in drawn_axes for axis in (axes.xaxis, axes.yaxis)], "names of axes")
    for axes in drawn_axes:
        assert axes.has_data(), "a panel is empty"
        for axis in (axes.xaxis, axes.yaxis):
            check_apart(
                [label for label in axis.get_ticklabels(which="both") if label.get_visible()], "labels of ticks"
            )


def check_apart(texts: list[Text], what: str) -> None:
    """Check that texts do not overlap."""
    boxes = [text.get_window_extent() for text in texts if text.get_text().strip()]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :]), f"{what} touch"


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
