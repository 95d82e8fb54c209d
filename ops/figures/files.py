"""The files of a figure: PNG, PDF and SVG."""

from collections.abc import Mapping
from functools import partial

from matplotlib.figure import Figure

from ops.figures.style import titled
from ops.storage.store import Store

DPI = 300
UNDATED: dict[str, dict[str, None]] = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}


def save_figures(store: Store, folder: str, figures: Mapping[str, Figure], model: str = "") -> list[str]:
    """Commit each figure as `folder`/name.png, .pdf and .svg, and return these names.

    The name of a model is added to the titles. The same figure gives the same bytes.
    """
    files = []
    for name, figure in figures.items():
        figure.suptitle(titled(figure.get_suptitle(), model))
        # The layout is computed once, not again for every kind of file.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for kind, undated in UNDATED.items():
            files.append(f"{folder}/{name}.{kind}")
            store.commit(files[-1], partial(figure.savefig, format=kind, dpi=DPI, metadata=undated))
    return files
