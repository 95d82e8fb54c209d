"""Whether a figure can be printed: its width, the size of its letters, and whether its title fits."""

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
