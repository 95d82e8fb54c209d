"""Figures of sentences: which layer recognises the next one, masked words by tag and frequency, translations."""

from collections.abc import Callable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ops.figures import COLOURS, COLUMN, PAGE, distinct_lines, for_print, save_figures
from ops.meaning.figures import short_name
from ops.meaning.masked_words import ALL, BANDS
from ops.meaning.next_sentences import HEAD, OTHER, SAME, SHUFFLED, TOKENS
from ops.storage.store import Store

FOLDER = "meaning/sentences_figures"
MOST_TAGS = 20
_AGAINST = {OTHER: ("of another document", "o", COLOURS[0]), SAME: ("of the same document", "s", COLOURS[1])}
Rows = list[dict[str, Any]]


def draw_sentences(store: Store, following: Rows, masked: Rows, translations: Rows, model: str) -> list[str]:
    """Draw every figure for which there is data into `meaning/sentences_figures/` and return the file names.

    Args:
        store: the run's folder.
        following, masked, translations: rows of `meaning/sentences`, `meaning/masked_words`, `meaning/translations`.
        model: name of the model, for the titles.
    """
    name = short_name(model)
    drawings: dict[str, Callable[[], Figure]] = {}
    if following:
        drawings["next_sentence_auc"] = lambda: draw_next(following, name)
    if masked:
        drawings["masked_word_rank"] = lambda: draw_masked(masked, name)
    if translations:
        drawings["translation_rank"] = lambda: draw_translations(translations, name)
    return save_figures(store, FOLDER, drawings)


@for_print
def draw_next(rows: Rows, model: str) -> Figure:
    """Draw by layer how well the next sentence is recognised, against one of the same and one of another document."""
    figure = Figure(figsize=(COLUMN, 3.3), layout="constrained")
    axes: Axes = figure.subplots()
    layers = _layers(rows)
    columns = [TOKENS, *(f"layer:{n}" for n in layers), HEAD, SHUFFLED]
    columns = [c for c in columns if any(r["space"] == c for r in rows)]
    for shift, (against, (label, mark, colour)) in zip((-0.06, 0.06), _AGAINST.items(), strict=True):
        own = {r["space"]: r for r in rows if r["against"] == against}
        for group, line in (([c for c in columns if ":" in c], "-"), ([c for c in columns if ":" not in c], "")):
            there = [c for c in group if c in own]
            middle = [own[c]["auc"] for c in there]
            ends = [[own[c]["auc"] - own[c]["low"] for c in there], [own[c]["high"] - own[c]["auc"] for c in there]]
            axes.errorbar(
                [columns.index(c) + shift for c in there], middle, _positive(ends), fmt=mark + line, color=colour,
                capsize=2, label=label if line else None,
            )  # fmt: skip
    axes.axhline(0.5, color="0.6", linewidth=0.6, linestyle=":")
    names = {TOKENS: "shared\ntokens", HEAD: "own\nhead", SHUFFLED: "shuffled"}
    axes.set_xticks(range(len(columns)), [names.get(c, c.removeprefix("layer:")) for c in columns])
    axes.set_xlim(-0.7, len(columns) - 0.3)
    axes.set_xlabel("layer")
    axes.set_ylabel("area under the ROC curve (bars: 95 %)")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    most = max(r["n"] for r in rows)
    figure.suptitle(f"Next sentence compared with another one\n{most:,} pairs, {model}")
    return figure


@for_print
def draw_masked(rows: Rows, model: str) -> Figure:
    """Draw how often the true token is the model's first guess and among its first ten, by tag and by frequency."""
    whole = next(r for r in rows if r["property"] == ALL)
    tags = sorted((r for r in rows if r["property"] == "tag"), key=lambda r: -r["n"])[:MOST_TAGS]
    by_band = {r["value"]: r for r in rows if r["property"] == "frequency"}
    bands = [by_band[name] for _, name in BANDS if name in by_band]
    figure = Figure(figsize=(PAGE, 3.2), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True, width_ratios=[len(tags) + 4, len(bands) + 4])
    for panel, own, title in (
        (panels[0], tags, "part of speech of the word (Penn tag)"),
        (panels[1], bands, "times per million tokens"),
    ):
        first = [100 * r["first"] for r in own]
        ends = [[100 * (r["first"] - r["first_low"]) for r in own], [100 * (r["first_high"] - r["first"]) for r in own]]
        panel.errorbar(
            range(len(own)), first, _positive(ends), fmt="o", color=COLOURS[0], capsize=2, label="first guess"
        )
        panel.plot(
            range(len(own)), [100 * r["within_10"] for r in own], "s", color=COLOURS[1], label="among the first ten"
        )
        panel.set_xticks(range(len(own)), [r["value"] for r in own], rotation=90)
        panel.set_xlabel(title)
    panels[0].set_ylim(0, 100)
    panels[0].set_ylabel("masked positions, % (bars: 95 %)")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    figure.suptitle(f"Predictions at {whole['n']:,} masked positions, {model}")
    return figure


@for_print
def draw_translations(rows: Rows, model: str) -> Figure:
    """Draw the mean reciprocal rank of a sentence's translation by layer, with a line for each pair of languages."""
    figure = Figure(figsize=(COLUMN, 3.3), layout="constrained")
    axes: Axes = figure.subplots()
    pairs = sorted({(r["language"], r["other"]) for r in rows})
    layers = _layers(rows)
    for (one, other), look in zip(pairs, distinct_lines(len(pairs)), strict=True):
        own = [next(r for r in rows if (r["language"], r["other"], r["space"]) == (one, other, f"layer:{n}"))
               for n in layers]  # fmt: skip
        ends = [[r["reciprocal_rank"] - r["low"] for r in own], [r["high"] - r["reciprocal_rank"] for r in own]]
        middle = [r["reciprocal_rank"] for r in own]
        axes.errorbar(layers, middle, _positive(ends), label=f"{one} to {other}", capsize=2, marker="o", **look)
        axes.axhline(own[0]["chance"], color=look["color"], linewidth=0.6, linestyle=":")
    axes.set_xticks(layers)
    axes.set_ylim(0, 1)
    axes.set_xlabel("layer")
    axes.set_ylabel("mean reciprocal rank (bars: 95 %; dotted: chance)")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.suptitle(f"Rank of a sentence's translation\namong all sentences, {model}")
    return figure


def _layers(rows: Rows) -> list[int]:
    return sorted({int(r["space"].partition(":")[2]) for r in rows if ":" in r["space"]})


def _positive(ends: list[list[float]]) -> list[list[float]]:
    return [[max(end, 0.0) for end in side] for side in ends]
