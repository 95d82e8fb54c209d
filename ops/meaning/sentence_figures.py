"""Figures of sentences: which layer recognises the next one, masked words by tag and frequency, translations."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from ops.figures.files import save_figures
from ops.figures.lines import draw_lines, lines, longer, rows_where
from ops.figures.panels import finish, panels
from ops.figures.style import LEVEL
from ops.meaning.figures import short_name
from ops.meaning.masked_words import ALL, BANDS
from ops.meaning.next_sentences import HEAD, OTHER, SAME, SHUFFLED, TOKENS
from ops.storage.store import Store

FOLDER = "meaning/sentences_figures"
MOST_TAGS = 20
Rows = list[dict[str, Any]]


def draw_sentences(store: Store, following: Rows, masked: Rows, translations: Rows, model: str) -> list[str]:
    """Draw every figure for which there is data into `meaning/sentences_figures/` and return the file names.

    Args:
        store: the run's folder.
        following, masked, translations: rows of `meaning/sentences`, `meaning/masked_words`, `meaning/translations`.
        model: name of the model, for the titles.
    """
    figures = {}
    if following:
        figures["next_sentence_auc"] = draw_next(following, short_name(model))
    if masked:
        figures["masked_word_rank"] = draw_masked(masked, short_name(model))
    if translations:
        figures["translation_rank"] = draw_translations(translations, short_name(model))
    return save_figures(store, FOLDER, figures)


def draw_next(rows: Rows, model: str) -> Figure:
    """Draw by layer how well the next sentence is recognised, against one of the same and one of another document."""
    names = {TOKENS: "shared tokens", HEAD: "own head", SHUFFLED: "shuffled"}
    layers = sorted(
        (row["space"] for row in rows if ":" in row["space"]), key=lambda space: int(space.partition(":")[2])
    )
    order = [TOKENS, *layers, HEAD, SHUFFLED]
    ordered = [
        {**row, "at": names.get(row["space"], row["space"].partition(":")[2])}
        for row in sorted(rows, key=lambda row: order.index(row["space"]))
    ]
    figure = lines(
        pa.Table.from_pylist(ordered), "at", "auc", low="low", high="high", colour="against", points=True,
        series={OTHER: "of another document", SAME: "of the same document"}, x_label="layer, or a control",
        y_label="area under the ROC curve (bars: 95 %)", model=model,
        title=f"Next sentence compared with another one, {max(row['n'] for row in rows):,} pairs",
    )  # fmt: skip
    figure.axes[0].axhline(0.5, **LEVEL)
    return figure


def draw_masked(rows: Rows, model: str) -> Figure:
    """Draw how often the true token is the model's first guess and among its first ten, by tag and by frequency."""
    table = longer(
        pa.Table.from_pylist(rows),
        ("", "first guess (bars: 95 %)", "first", "first_low", "first_high"),
        ("", "among the first ten", "within_10"),
    )
    tags = rows_where(table, "property", "tag").sort_by([("n", "descending")]).slice(0, 2 * MOST_TAGS)
    bands = rows_where(table, "property", "frequency")
    bands = bands.take(pc.sort_indices(pc.index_in(bands["value"], pa.array([name for _, name in BANDS]))))
    positions = next(row["n"] for row in rows if row["property"] == ALL)
    titles = ["by part of speech (Penn tag)", "by times per million tokens"]
    figure, grid = panels(
        titles, f"Predictions at {positions:,} masked positions", model, own_scales=True, columns=1, height=1.6
    )
    for axes, own in zip(grid, (tags, bands), strict=True):
        draw_lines(axes, own, "value", "y", low="low", high="high", colour="series", points=True)
        axes.set_ylim(-0.02, 1.02)
    return finish(figure, "", "share of the masked positions")


def draw_translations(rows: Rows, model: str) -> Figure:
    """Draw the mean reciprocal rank of a sentence's translation by layer, with a line for each pair of languages."""
    table = pa.Table.from_pylist([
        {**row, "layer": int(row["space"].partition(":")[2]), "pair": f"{row['language']} to {row['other']}"}
        for row in rows
        if ":" in row["space"]
    ])  # fmt: skip
    names = {pair: pair for pair in sorted(pc.unique(table["pair"]).to_pylist())}
    figure = lines(
        table, "layer", "reciprocal_rank", low="low", high="high", colour="pair", series=names, x_label="layer",
        title="Rank of a sentence's translation among all sentences", model=model,
        y_label="mean reciprocal rank (bands: 95 %; dotted: chance)",
    )  # fmt: skip
    draw_lines(
        figure.axes[0],
        table,
        "layer",
        "chance",
        colour="pair",
        series=dict.fromkeys(names, ""),
        linestyle=":",
        marker="",
    )
    figure.axes[0].set_ylim(-0.02, 1.02)
    return figure
