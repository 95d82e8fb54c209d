"""The figures of meaning: pairs of words with their offsets as arrows, and the accuracy of offsets by space."""

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from ops.arrays import Float32s, Float64s, Floats
from ops.figures.files import save_figures
from ops.figures.lines import lines
from ops.figures.maps import label_points
from ops.figures.panels import finish, panels
from ops.figures.style import COLOURS
from ops.meaning.analogies import ALL
from ops.meaning.offsets import Space
from ops.meaning.words import fold
from ops.storage.store import Store

FOLDER = "meaning/figures"
# Pairs whose words should all differ by the same offset.
PAIRS = {
    "people": (
        ("man", "woman"), ("king", "queen"), ("uncle", "aunt"), ("father", "mother"), ("son", "daughter"),
        ("brother", "sister"),
    ),
    "capitals": (
        ("France", "Paris"), ("England", "London"), ("Germany", "Berlin"), ("Italy", "Rome"), ("Spain", "Madrid"),
        ("Japan", "Tokyo"), ("Egypt", "Cairo"), ("Canada", "Ottawa"),
    ),
}  # fmt: skip
_RULE_TITLES = {"add": "3CosAdd", "mul": "3CosMul", "nearest_c": "nearest to the third word"}
LEAST_PAIRS = 2

Pairs = list[tuple[str, str]]


def short_name(model: str) -> str:
    """Return a short model name for a title: the last part of a directory or a hub id.

    >>> short_name("models/small/")
    'small'
    """
    return model.rstrip("/").rpartition("/")[2]


def known_pairs(space: Space, name: str, case: str) -> tuple[Pairs, Float32s]:
    """Return the pairs of a figure that a space has, and their vectors `[pairs, 2, dimensions]`."""
    places = {word: i for i, word in enumerate(space.words)}
    folded = [(fold(a, case), fold(b, case)) for a, b in PAIRS[name]]
    pairs = [(a, b) for a, b in folded if a in places and b in places]
    rows = [[places[a], places[b]] for a, b in pairs]
    return pairs, space.vectors[np.array(rows, np.int64).reshape(-1, 2)]


def principal_plane(vectors: Floats) -> Float64s:
    """Return the first two principal components of vectors `[n, dimensions]` at length 1, as `[n, 2]` float64.

    The largest coordinate of each component is made positive, so that the same vectors give the same picture.
    """
    wide = vectors.astype(np.float64)
    wide = wide / np.linalg.norm(wide, axis=1, keepdims=True)
    centred = wide - wide.mean(0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    flat = centred @ axes[:2].T
    if flat.shape[1] < 2:
        flat = np.hstack([flat, np.zeros((len(flat), 2 - flat.shape[1]))])
    largest = flat[np.abs(flat).argmax(0), np.arange(2)]
    return np.asarray(flat * np.where(largest < 0, -1.0, 1.0))


def fill_panel(plane: Float64s) -> Float64s:
    """Shift and scale points `[n, 2]` so that each axis runs from -1 to 1."""
    low, high = plane.min(0), plane.max(0)
    return np.asarray((2 * plane - low - high) / np.where(high > low, high - low, 1.0))


def draw_pairs(shown: list[tuple[str, Pairs, Float32s]], model: str) -> Figure:
    """Draw pairs in the plane of their words, with an arrow from first to second, and a panel for each space."""
    title = "Offsets of pairs in the principal plane of each space"
    figure, grid = panels(
        [name.replace(":", " ") for name, *_ in shown], title, model, columns=min(len(shown), 2), height=2
    )
    planes = [fill_panel(principal_plane(vectors.reshape(-1, vectors.shape[-1]))) for *_, vectors in shown]
    for axes, plane in zip(grid, planes, strict=True):
        axes.scatter(plane[:, 0], plane[:, 1], s=3, color=COLOURS[0])
        for tail, head in plane.reshape(-1, 2, 2):
            axes.annotate("", head, tail, arrowprops={"arrowstyle": "->", "color": COLOURS[0], "linewidth": 0.8})
        axes.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), xticks=[], yticks=[])
    finish(figure, "first principal component (no unit)", "second (no unit)")
    # Free places for words are only known once all titles are drawn.
    for axes, plane, (_, pairs, _) in zip(grid, planes, shown, strict=True):
        label_points(axes, plane, [word for pair in pairs for word in pair])
    return figure


def draw_accuracy(rows: list[dict[str, object]], names: list[str], model: str) -> Figure:
    """Draw the accuracy over all questions by space and rule, with intervals and with the given words excluded.

    Args:
        rows: of `meaning/analogies`.
        names: the spaces, in the order in which they are drawn.
        model: name of the model, for the title.
    """
    every = [row for row in rows if row["category"] == ALL]
    asked = max(int(str(row["n_known"])) for row in every)
    known = [row for row in every if row["excluded"] and row["accuracy"] is not None]
    spaces = [
        {**row, "space": str(row["space"]).replace(":", " ")}
        for row in sorted(known, key=lambda r: names.index(str(r["space"])))
    ]
    return lines(
        pa.Table.from_pylist(spaces), "space", "accuracy", low="low", high="high", colour="rule", series=_RULE_TITLES,
        points=True, title=f"Analogies by space, {asked:,} known questions, given words excluded", model=model,
        x_label="word space", y_label="share of correct answers (bars: 95 %)",
    )  # fmt: skip


def any_known(rows: list[dict[str, object]]) -> bool:
    """Return whether any question is known in any space, so that an accuracy can be drawn."""
    return any(row["accuracy"] is not None for row in rows)


def draw_all(store: Store, shown: dict[str, list[tuple[str, Pairs, Float32s]]], rows: list[dict[str, object]],
             names: list[str], model: str) -> list[str]:  # fmt: skip
    """Draw every figure for which there is data into `meaning/figures/` and return the file names.

    Args:
        store: the run's folder.
        shown: for each figure of `PAIRS`, each space's name, pairs and vectors. A figure without two pairs in any space
            is skipped.
        rows: of `meaning/analogies`; if no question is known, the figure of the accuracy is skipped.
        names: the spaces in the order in which they are drawn.
        model: name of the model, for the titles.
    """
    figures: dict[str, Figure] = {}
    for name, spaces in shown.items():
        enough = [entry for entry in spaces if len(entry[1]) >= LEAST_PAIRS]
        if enough:
            figures[f"offsets_{name}"] = draw_pairs(enough, short_name(model))
    if any_known(rows):
        figures["analogy_accuracy"] = draw_accuracy(rows, names, short_name(model))
    return save_figures(store, FOLDER, figures)
