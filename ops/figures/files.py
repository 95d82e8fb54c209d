"""The files of a figure: PNG, PDF and SVG."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from ops.figures.style import titled
from ops.storage.store import Store

DPI = 300
_UNDATED: dict[str, dict[str, None]] = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}


def figure_files(name: str) -> list[str]:
    """Return the names of a figure's files."""
    return [f"{name}.{kind}" for kind in _UNDATED]


def save_figures(store: Store, folder: str, figures: Mapping[str, Figure], model: str = "") -> list[str]:
    """Commit each figure as `folder`/name.png, .pdf and .svg, and return these names.

    The name of a model is added to the titles. The same figure gives the same bytes.
    """
    for name, figure in figures.items():
        figure.suptitle(titled(figure.get_suptitle(), model))
        # The layout is computed once, not again for every kind of file.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for kind in _UNDATED:

            def write(path: str, figure: Figure = figure, kind: str = kind) -> None:
                figure.savefig(path, format=kind, dpi=DPI, metadata=_UNDATED[kind])

            store.commit(f"{folder}/{name}.{kind}", write)
    return [file for name in figures for file in figure_files(f"{folder}/{name}")]
