"""The figures of meaning: pairs of words with their offsets as arrows, and the accuracy of offsets by space."""

from collections.abc import Callable
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ops.arrays import Float32s, Float64s, Floats
from ops.figures import BLUE, COLOURS, COLUMN, PAGE, for_print, label_outer, label_points, save_figures
from ops.meaning.analogies import ALL
from ops.meaning.offsets import RULES, Space
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


@for_print
def draw_pairs(shown: list[tuple[str, Pairs, Float32s]], title: str) -> Figure:
    """Draw pairs in the plane of their words, with an arrow from first to second, and a panel for each space."""
    columns = min(len(shown), 2 if len(shown) in (2, 4) else 3)
    rows = -(-len(shown) // columns)
    figure = Figure(figsize=(PAGE, 0.6 + PAGE / columns * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel in grid[len(shown) :]:
        panel.set_axis_off()
    planes: list[tuple[Axes, Float64s, list[str]]] = []
    for panel, (name, pairs, vectors) in zip(grid, shown, strict=False):
        plane = principal_plane(vectors.reshape(-1, vectors.shape[-1]))
        plane = fill_panel(plane)  # each space and axis has its own scale; parallel arrows stay parallel
        for tail, head in plane.reshape(-1, 2, 2):
            panel.annotate("", head, tail, arrowprops={"arrowstyle": "->", "color": BLUE, "linewidth": 0.8})
        panel.set_xlim(-1.25, 1.25)
        panel.set_ylim(-1.25, 1.25)
        panel.set_xticks([])
        panel.set_yticks([])
        panel.set_title(space_name(name))
        planes.append((panel, plane, [word for pair in pairs for word in pair]))
    label_outer(list(grid[: len(shown)]), "first principal component (no unit)", "second (no unit)")
    figure.suptitle(title)
    # Free places for words are only known once all titles are drawn.
    for panel, plane, words in planes:
        label_points(panel, plane, words, lines=plane.reshape(-1, 2, 2))
    return figure


def space_name(space: str) -> str:
    """Return what a figure calls a space.

    >>> space_name("layer:3"), space_name("counts")
    ('layer 3', 'counts')
    """
    return space.replace(":", " ")


@for_print
def draw_accuracy(rows: list[dict[str, object]], names: list[str], title: str) -> Figure:
    """Draw the accuracy over all questions by space and rule, with intervals and with the given words excluded.

    Args:
        rows: of `meaning/analogies`.
        names: the spaces, in the order in which they are drawn.
        title: title of the figure.
    """
    figure = Figure(figsize=(COLUMN, 3.2), layout="constrained")
    axes: Axes = figure.subplots()
    by_key = {(r["space"], r["rule"]): r for r in rows if r["category"] == ALL and r["excluded"]}
    for number, rule in enumerate(RULES):
        there = [(place, by_key[name, rule]) for place, name in enumerate(names)]
        known = [(place, row) for place, row in there if row["accuracy"] is not None]
        middle, low, high = ([100 * float(str(row[c])) for _, row in known] for c in ("accuracy", "low", "high"))
        ends = [
            [max(m - e, 0) for m, e in zip(middle, low, strict=True)],
            [max(e - m, 0) for m, e in zip(middle, high, strict=True)],
        ]
        axes.errorbar(
            [place + 0.15 * (number - 1) for place, _ in known], middle, ends, fmt="osD"[number], capsize=2,
            color=COLOURS[number], label=_RULE_TITLES[rule],
        )  # fmt: skip
    axes.set_xticks(range(len(names)), [space_name(name) for name in names], rotation=90)
    axes.set_xlabel("word space")
    axes.set_ylabel("correct answers, % (bars: 95 %)")
    axes.set_ylim(bottom=0)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    figure.suptitle(title)
    return figure


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
    drawings: dict[str, Callable[[], Figure]] = {}
    for name, found in shown.items():
        enough = [entry for entry in found if len(entry[1]) >= LEAST_PAIRS]
        if enough:
            title = f"Offsets of pairs in the principal plane of each space, {short_name(model)}"
            drawings[f"offsets_{name}"] = partial(draw_pairs, enough, title)
    if any_known(rows):
        asked = max(int(str(r["n_known"])) for r in rows if r["category"] == ALL)
        title = f"Analogies by space, {short_name(model)}\n{asked:,} known questions, given words excluded"
        drawings["analogy_accuracy"] = partial(draw_accuracy, rows, names, title)
    return save_figures(store, FOLDER, drawings)
