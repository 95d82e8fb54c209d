"""The figure of the confusion sets: accuracy of classifiers by their features and by number of examples."""

from typing import Any

import pyarrow as pa

from ops.figures.files import save_figures
from ops.figures.lines import lines
from ops.figures.style import INK
from ops.meaning.figures import short_name
from ops.storage.store import Store

FOLDER = "meaning/confusion_figures"
WORDS, MAJORITY, ALL = "words", "majority", "all examples"
MOST_LINES = 4  # maximum number of lines, including the one for all examples


def draw_confusion(store: Store, rows: list[dict[str, Any]], model: str) -> list[str]:
    """Draw accuracy by features, with a panel for each set and a line for each number of training examples.

    Return the file names.

    Args:
        store: the run's folder.
        rows: the rows of `meaning/confusion`.
        model: name of the model, for the title.
    """
    every = {name: max(r["n"] for r in rows if r["set"] == name) for name in dict.fromkeys(r["set"] for r in rows)}
    fewer = _fewer_than_all([[r for r in rows if r["set"] == name] for name in every])
    sizes = {ALL: ALL, **{f"{n:,}": f"{n:,} examples" for n in reversed(fewer)}}
    table = pa.Table.from_pylist([
        {**row, "at": row["features"].rpartition(":")[2], "size": ALL if n == every[row["set"]] else f"{n:,}"}
        for row in sorted(rows, key=_place)
        if (row["features"] == WORDS or ":" in row["features"]) and (n := row["n"])
    ])  # fmt: skip
    figure = lines(
        table, "at", "accuracy", low="low", high="high", colour="size", series=sizes, panel="set",
        names={name: f"{name.replace(' ', ' / ')}, {n:,} examples" for name, n in every.items()},
        title="Choosing among confused words, by features and number of examples (bands: 95 %)",
        model=short_name(model), x_label="surrounding words, or layer",
        y_label="accuracy (dotted: the most frequent word)",
    )  # fmt: skip
    for axes, (name, n) in zip(figure.axes, every.items(), strict=False):
        for row in (r for r in rows if (r["set"], r["features"], r["n"]) == (name, MAJORITY, n)):
            axes.axhline(row["accuracy"], color=INK, linestyle=":", linewidth=0.8)
    return save_figures(store, FOLDER, {"confusion_accuracy": figure})


def _place(row: dict[str, Any]) -> int:
    """Return where a row's features are drawn: words first, then layers in their order."""
    return int(row["features"].partition(":")[2]) if ":" in row["features"] else -1


def _fewer_than_all(sets: list[list[dict[str, Any]]]) -> list[int]:
    """Return the numbers of training examples that get a line in addition to that of all examples, ascending."""
    numbers = [{r["n"] for r in own} - {max(r["n"] for r in own)} for own in sets]
    common = sorted(set.intersection(*numbers))
    most = MOST_LINES - 1
    return common if len(common) <= most else [common[round(i * (len(common) - 1) / (most - 1))] for i in range(most)]
