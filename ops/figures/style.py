"""How figures look: one width, letters that a phone shows large enough, and colours on a light ground of their own.

A figure has an opaque light ground, so that it is read alike on paper, on a light page and on a dark page.
"""

from textwrap import fill
from typing import Any

import matplotlib
import numpy as np
from matplotlib.colors import ListedColormap, to_hex

WIDTH = 120 / 25.4  # inches. A figure that is shown 340 pixels wide, as on a phone, has a pixel for each point.
LETTERS = 7.5  # size of the smallest letters, in points
LINE = 66  # maximum number of letters in a line of a figure's title
GROUND, INK, GREY, PALE = "#FFFFFF", "#1A1A1A", "#767676", "#C8C8C8"
# After Okabe and Ito, for people with any colour vision; each colour has a contrast of at least 3 with the ground.
COLOURS = ("#0072B2", "#C75000", "#008F68", "#A8508A", "#3E93C9", "#9C7000", "#1A1A1A")
# From light to dark for numbers from low to high, and for numbers around 0.
SEQUENTIAL, DIVERGING = ListedColormap(matplotlib.colormaps["YlGnBu"](np.linspace(0.15, 0.95, 256))), "RdBu_r"
LIGHT_LETTERS_FROM = 0.63  # share of the scale `SEQUENTIAL` from which letters on its colours are light
BAND: dict[str, Any] = {"alpha": 0.18, "linewidth": 0}  # an interval around a line
LEVEL: dict[str, Any] = {"color": GREY, "linewidth": 0.6, "zorder": 0}  # a line at a value to compare with
_MARKERS, _DASHES = "os^Dvph", ("-", "--", ":", "-.")
_ORDERED = 0.62  # where the colours of ordered lines end: those after it are too pale for the ground

# Letters stay letters, dollar signs of names too, and the same figure gives the same bytes.
matplotlib.rcParams.update({
    "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "figure.titlesize": 9, "legend.fontsize": 8,
    "xtick.labelsize": LETTERS, "ytick.labelsize": LETTERS, "xtick.major.width": 0.6, "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4, "ytick.minor.width": 0.4, "lines.linewidth": 1.1, "lines.markersize": 3,
    "axes.linewidth": 0.6, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False,
    "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": INK, "xtick.color": INK, "ytick.color": INK,
    "figure.facecolor": GROUND, "axes.facecolor": GROUND, "savefig.facecolor": GROUND,
    "text.parse_math": False, "svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "neuron-atlas",
})  # fmt: skip


def looks(count: int, ordered: bool = False) -> list[dict[str, Any]]:
    """Return the looks of `count` series.

    The first is that of measured values, and the next are those of their controls. Up to 28 differ in colour or dashes.
    Series that are `ordered`, as layers are, differ in colour alone, from dark to light.
    """
    if ordered:
        return [{"color": to_hex(c)} for c in matplotlib.colormaps["plasma"](np.linspace(0, _ORDERED, count))]
    colours = len(COLOURS)
    return [
        {
            "color": COLOURS[i % colours],
            "marker": _MARKERS[i % len(_MARKERS)],
            "linestyle": _DASHES[(i % colours + i // colours) % len(_DASHES)],
        }
        for i in range(count)
    ]


def titled(title: str, model: str = "") -> str:
    """Return a figure's title with the name of a model, in lines that fit its width.

    >>> titled("Norms", "sample")
    'Norms, sample'
    """
    return fill(", ".join(filter(None, (title, model))), LINE, break_on_hyphens=False)
