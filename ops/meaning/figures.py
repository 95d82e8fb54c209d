"""The figures of meaning: pairs of words with their offsets as arrows, and the accuracy of offsets by space."""

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ops.figures import panels, save_figure
from ops.meaning.analogies import ALL
from ops.meaning.offsets import RULES, Floats, Space
from ops.meaning.words import fold
from ops.storage.store import Store

FOLDER = "meaning/figures"
# As in the lecture: what should differ by one and the same offset.
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
_RULE_TITLES = {"add": "3CosAdd", "mul": "3CosMul", "nearest_c": "nearest to c"}
LEAST_PAIRS = 2

Pairs = list[tuple[str, str]]


def short_name(model: str) -> str:
    """Return a model's name for a title: of a directory or a hub id the last part.

    >>> short_name("models/small/")
    'small'
    """
    return model.rstrip("/").rpartition("/")[2]


def known_pairs(space: Space, name: str, case: str) -> tuple[Pairs, Floats]:
    """Return the pairs of a figure that a space has, and their vectors `[pairs, 2, dimensions]`."""
    places = {word: i for i, word in enumerate(space.words)}
    folded = [(fold(a, case), fold(b, case)) for a, b in PAIRS[name]]
    pairs = [(a, b) for a, b in folded if a in places and b in places]
    rows = [[places[a], places[b]] for a, b in pairs]
    return pairs, space.vectors[np.array(rows, np.int64).reshape(-1, 2)]


def principal_plane(vectors: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """Return the first two principal components of vectors `[n, dimensions]` at length 1, as `[n, 2]` float64.

    The largest coordinate of each component is positive, so that the same vectors give the same picture.
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


def draw_pairs(shown: list[tuple[str, Pairs, Floats]], title: str) -> Figure:
    """Draw pairs in the plane of their words, an arrow from the first of each to the second, a panel a space."""
    figure, axes = panels(len(shown), title, square=True)
    for panel, (name, pairs, vectors) in zip(axes, shown, strict=True):
        plane = principal_plane(vectors.reshape(-1, vectors.shape[-1]))
        plane /= np.abs(plane).max() or 1.0  # panels share their axes, and each space has a scale of its own
        for (first, second), (tail, head) in zip(pairs, plane.reshape(-1, 2, 2), strict=True):
            panel.annotate("", head, tail, arrowprops={"arrowstyle": "->", "color": "C0"})
            for word, point in ((first, tail), (second, head)):
                panel.annotate(word, point, fontsize=7, ha="center")
        panel.set_xlim(-1.2, 1.2)
        panel.set_ylim(-1.2, 1.2)
        panel.set_title(name)
    return figure


def draw_accuracy(rows: list[dict[str, object]], names: list[str], title: str) -> Figure:
    """Draw the accuracy over all questions by space and rule, given words excluded, with intervals.

    Args:
        rows: of `meaning/analogies`.
        names: the spaces, in the order in which they are drawn.
        title: of the figure.
    """
    figure = Figure(figsize=(1.6 + 0.8 * len(names), 3.6), layout="constrained")
    axes: Axes = figure.subplots()
    by_key = {(r["space"], r["rule"]): r for r in rows if r["category"] == ALL and r["excluded"]}
    for number, rule in enumerate(RULES):
        for place, name in enumerate(names):
            row = by_key[name, rule]
            if row["accuracy"] is None:
                continue
            middle, low, high = (100 * float(str(row[c])) for c in ("accuracy", "low", "high"))
            axes.errorbar(
                place + 0.15 * (number - 1), middle, [[max(middle - low, 0)], [max(high - middle, 0)]],
                fmt="o", markersize=4, capsize=2, color=f"C{number}", label=_RULE_TITLES[rule] if not place else None,
            )  # fmt: skip
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set_ylabel("questions answered rightly, %")
    axes.set_ylim(bottom=0)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(frameon=False)
    figure.suptitle(title, fontsize=11)
    return figure


def draw_all(store: Store, shown: dict[str, list[tuple[str, Pairs, Floats]]], rows: list[dict[str, object]],
             names: list[str], model: str) -> list[str]:  # fmt: skip
    """Draw every figure into `meaning/figures/` and return the files' names.

    Args:
        store: the run's folder.
        shown: by figure of `PAIRS`, each space's name, pairs and vectors; one without two pairs anywhere is left out.
        rows: of `meaning/analogies`.
        names: the spaces in their order.
        model: its name, for the titles.
    """
    drawn = {}
    with matplotlib.rc_context({"font.size": 9}):
        for name, found in shown.items():
            enough = [entry for entry in found if len(entry[1]) >= LEAST_PAIRS]
            if enough:
                drawn[f"offsets_{name}"] = draw_pairs(enough, f"Offsets of pairs in each space, {short_name(model)}")
        drawn["accuracy"] = draw_accuracy(rows, names, f"Analogies by space, {short_name(model)}")
        return [file for name, figure in drawn.items() for file in save_figure(store, f"{FOLDER}/{name}", figure)]
