"""The figures of meaning that are maps: pairs of words with arrows from one to the other, and codes of sentences."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from ops.arrays import Float32s
from ops.figures.lines import names_of
from ops.figures.maps import label_points, largest, scatter
from ops.figures.panels import finish, panels
from ops.figures.style import COLOURS
from ops.meaning.hashing import AUTOENCODER, PCA
from ops.meaning.offsets import Space
from ops.meaning.words import fold
from ops.statistics.principal_plane import principal_plane

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
LEAST_PAIRS = 2
_METHODS = {PCA: "PCA", AUTOENCODER: "autoencoder"}
MOST_POINTS = 3_000

Pairs = list[tuple[str, str]]


def known_pairs(space: Space, name: str, case: str) -> tuple[Pairs, Float32s]:
    """Return the pairs of a figure that a space has, and their vectors `[pairs, 2, dimensions]`."""
    places = {word: i for i, word in enumerate(space.words)}
    folded = [(fold(a, case), fold(b, case)) for a, b in PAIRS[name]]
    pairs = [(a, b) for a, b in folded if a in places and b in places]
    rows = [[places[a], places[b]] for a, b in pairs]
    return pairs, space.vectors[np.array(rows, np.int64).reshape(-1, 2)]


def offset_figures(shown: dict[str, list[tuple[str, Pairs, Float32s]]], model: str) -> dict[str, Figure]:
    """Draw pairs in the plane of their words, with an arrow from first to second, and a panel for each space.

    Args:
        shown: for each figure of `PAIRS`, each space's name, pairs and vectors. A figure without two pairs in any space
            is left out.
        model: name of the model, for the titles: places for words are free or not by the height of a title.
    """
    enough = {name: [space for space in spaces if len(space[1]) >= LEAST_PAIRS] for name, spaces in shown.items()}
    title = f"Offsets of pairs in the principal plane of each space, {model}"
    return {f"offsets_{name}": _offsets(spaces, title) for name, spaces in enough.items() if spaces}


def _offsets(spaces: list[tuple[str, Pairs, Float32s]], title: str) -> Figure:
    titles = [name.replace(":", " ") for name, *_ in spaces]
    figure, grid = panels(titles, title, own_scales=True, columns=min(len(spaces), 2), height=2)
    flat = [vectors.reshape(-1, vectors.shape[-1]) for *_, vectors in spaces]
    planes = [principal_plane(words / np.linalg.norm(words, axis=1, keepdims=True)).places for words in flat]
    for axes, plane in zip(grid, planes, strict=True):
        axes.scatter(plane[:, 0], plane[:, 1], s=3, color=COLOURS[0])
        for tail, head in plane.reshape(-1, 2, 2):
            axes.annotate("", head, tail, arrowprops={"arrowstyle": "->", "color": COLOURS[0], "linewidth": 0.8})
        axes.set(xticks=[], yticks=[])
        axes.margins(0.15)
    finish(figure, "first principal component (no unit)", "second (no unit)")
    # Free places for words are only known once all titles are drawn.
    for axes, plane, (_, pairs, _) in zip(grid, planes, spaces, strict=True):
        label_points(axes, plane, [word for pair in pairs for word in pair])
    return figure


def codes_figure(plane: pa.Table, classes: list[str | None], label: str) -> Figure:
    """Draw two-dimensional codes coloured by class, a panel for each method; rare classes have no colour.

    Args:
        plane: the table `meaning/plane`.
        classes: the class of each row by `label`, or None.
        label: the label that gives the colours.
    """
    methods = names_of(plane, "method", _METHODS)
    title = f"Held-out sentences in two dimensions, by {label} (grey: rarer classes)"
    figure, grid = panels(list(methods.values()), title, own_scales=True)
    points, groups = np.column_stack([plane["x"], plane["y"]]), np.array(classes, object)
    for axes, method in zip(grid, methods, strict=True):
        own = np.flatnonzero(pc.equal(plane["method"], method))
        own = own[:: max(-(-len(own) // MOST_POINTS), 1)]
        scatter(axes, points[own], groups[own].tolist(), largest(classes))
    return finish(figure, "first dimension of the code", "second dimension of the code")
