"""The figure of the confusion sets: accuracy of classifiers by their features and by number of examples."""

from typing import Any

from matplotlib.figure import Figure

from ops.figures import BAND, BLACK, PAGE, for_print, label_outer, ordered_colours, save_figures
from ops.meaning.figures import short_name
from ops.storage.store import Store

FOLDER = "meaning/confusion_figures"
WORDS, MAJORITY = "words", "majority"
MOST_LINES = 4  # maximum number of lines, including the one for all examples
_MARKS = "os^D"


def draw_confusion(store: Store, rows: list[dict[str, Any]], model: str) -> list[str]:
    """Draw accuracy by features and by number of examples, and return the file names.

    Args:
        store: the run's folder.
        rows: the rows of `meaning/confusion`.
        model: name of the model, for the title.
    """
    return save_figures(store, FOLDER, {"confusion_accuracy": lambda: draw_sets(rows, short_name(model))})


@for_print
def draw_sets(rows: list[dict[str, Any]], model: str) -> Figure:
    """Draw accuracy by features, with a panel for each set and a line for each number of training examples."""
    sets = {name: [r for r in rows if r["set"] == name] for name in dict.fromkeys(row["set"] for row in rows)}
    layers = sorted({int(r["features"].partition(":")[2]) for r in rows if ":" in r["features"]})
    there = {r["features"] for r in rows}
    read = [*([WORDS] if WORDS in there else []), *(f"layer:{n}" for n in layers)]
    columns = min(len(sets), 2 if len(sets) == 4 else 3)
    down = -(-len(sets) // columns)
    figure = Figure(figsize=(PAGE, 1.0 + 1.75 * down), layout="constrained")
    grid = list(figure.subplots(down, columns, sharex=True, sharey=True, squeeze=False).ravel())
    for panel in grid[len(sets) :]:
        panel.set_axis_off()
    fewer = _fewer_than_all(list(sets.values()))
    for panel, (name, own) in zip(grid, sets.items(), strict=False):
        every = max(r["n"] for r in own)
        sizes = [*((n, f"{n:,} examples") for n in fewer), (every, "all examples")]
        for (n, label), colour, mark in zip(sizes, reversed(ordered_colours(len(sizes))), _MARKS, strict=False):
            found = {r["features"]: r for r in own if r["n"] == n}
            at = [place for place, features in enumerate(read) if features in found]
            middle, low, high = ([100 * found[read[p]][c] for p in at] for c in ("accuracy", "low", "high"))
            panel.plot(at, middle, marker=mark, color=colour, label=label)
            panel.fill_between(at, low, high, color=colour, **BAND)
        majority = [100 * r["accuracy"] for r in own if r["features"] == MAJORITY and r["n"] == every]
        if majority:
            panel.axhline(majority[0], color=BLACK, linestyle=":", linewidth=0.8, label="the most frequent word")
        panel.set_title(f"{name.replace(' ', ' / ')}, {every:,} examples")
    step, first = -(-len(layers) // 8), len(read) - len(layers)
    ticks = [*range(first), *range(first + step - 1, len(read), step)]
    names = ["words" if read[place] == WORDS else read[place].partition(":")[2] for place in ticks]
    grid[0].set_xticks(ticks, names)
    label_outer(grid[: len(sets)], "surrounding words, or layer", "accuracy, %")
    handles = {text: line for panel in grid for line, text in zip(*panel.get_legend_handles_labels(), strict=True)}
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=min(len(handles), 5))
    figure.suptitle(f"Choosing among confused words, by features and number of examples (bands: 95 %), {model}")
    return figure


def _fewer_than_all(sets: list[list[dict[str, Any]]]) -> list[int]:
    """Return the numbers of training examples that get a line in addition to that of all examples, ascending."""
    numbers = [{r["n"] for r in own} - {max(r["n"] for r in own)} for own in sets]
    common = sorted(set.intersection(*numbers))
    most = MOST_LINES - 1
    return common if len(common) <= most else [common[round(i * (len(common) - 1) / (most - 1))] for i in range(most)]
