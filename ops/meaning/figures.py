"""The figures of meaning: accuracy, ranks and precision, and maps of pairs of words and of codes of sentences."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from ops.arrays import Float32s
from ops.figures.lines import lines, longer, names_of, rows_where
from ops.figures.maps import label_points, largest, scatter
from ops.figures.panels import finish, panels
from ops.figures.style import COLOURS, INK
from ops.meaning.hashing import AUTOENCODER, BITS, PCA, REAL, SHUFFLED, STATES
from ops.meaning.offsets import ALL, Space
from ops.meaning.sentence_tasks import ALL as EVERY_PLACE
from ops.meaning.sentence_tasks import BANDS, HEAD, OTHER, SAME, TOKENS
from ops.meaning.sentence_tasks import SHUFFLED as SHUFFLED_PAIRS
from ops.meaning.words import fold
from ops.statistics.principal_plane import principal_plane

_RULES = {"add": "3CosAdd", "mul": "3CosMul", "nearest_c": "nearest to the third word"}
WORDS, MAJORITY, EVERY_EXAMPLE = "words", "majority", "all examples"
MOST_NUMBERS = 3  # maximum number of lines of a confusion set in addition to that of all examples
MOST_TAGS = 20
_CONTROLS = {TOKENS: "shared tokens", HEAD: "own head", SHUFFLED_PAIRS: "shuffled"}
_GUESSES = (
    ("", "first guess (bars: 95 %)", "first", "first_low", "first_high"),
    ("", "among the first ten", "within_10"),
)
_CODES = {
    f"{AUTOENCODER} {REAL}": "autoencoder",
    f"{AUTOENCODER} {BITS}": "autoencoder, bits",
    f"{PCA} {REAL}": "PCA",
    f"{PCA} {BITS}": "PCA, bits",
    f"{STATES} {REAL}": "whole states",
    f"{SHUFFLED} {REAL}": "shuffled classes",
}
_LOST = "variance lost"
MOST_LABELS = 3
Rows = list[dict[str, Any]]
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


def analogy_figures(rows: Rows, names: list[str]) -> dict[str, Figure]:
    """Return the figure of the accuracy over all questions by space and rule, or none if no question is known.

    The rows of `meaning/analogies` in which the given words are excluded are drawn, with the spaces in the order of
    `names`.
    """
    every = [row for row in rows if row["category"] == ALL]
    known = [
        {**row, "at": names.index(row["space"])} for row in every if row["excluded"] and row["accuracy"] is not None
    ]
    if not known:
        return {}
    table = pa.Table.from_pylist(known).sort_by("at")
    spaces = pc.replace_substring(table["space"], ":", " ")
    figure = lines(
        table.append_column("word space", spaces), "word space", "accuracy", colour="rule", series=_RULES, points=True,
        y_label="share of correct answers (bars: 95 %)",
        title=f"Analogies by space, {max(row['n_known'] for row in every):,} known questions, given words excluded",
    )  # fmt: skip
    return {"analogy_accuracy": figure}


def sentence_figures(following: Rows, masked: Rows, translations: Rows) -> dict[str, Figure]:
    """Return a figure for each of `meaning/sentences`, `meaning/masked_words` and `meaning/translations` with rows."""
    figures = {}
    if following:
        figures["next_sentence_auc"] = _next(following)
    if masked:
        figures["masked_word_rank"] = _masked(masked)
    if translations:
        figures["translation_rank"] = _translations(translations)
    return figures


def _next(rows: Rows) -> Figure:
    """Draw by layer how well the next sentence is recognised, against one of the same and one of another document."""
    layers = sorted((row["space"] for row in rows if ":" in row["space"]), key=_layer)
    order = [TOKENS, *layers, HEAD, SHUFFLED_PAIRS]
    spaces = [
        {**row, "at": _CONTROLS.get(row["space"], row["space"].partition(":")[2])}
        for row in sorted(rows, key=lambda row: order.index(row["space"]))
    ]
    return lines(
        pa.Table.from_pylist(spaces), "at", "auc", colour="against", points=True,
        series={OTHER: "of another document", SAME: "of the same document"}, x_label="layer, or a control",
        y_label="area under the ROC curve (bars: 95 %)", levels={0.5: ""},
        title=f"Next sentence compared with another one, {max(row['n'] for row in rows):,} pairs",
    )  # fmt: skip


def _masked(rows: Rows) -> Figure:
    """Draw how often the true token is the model's first guess and among its first ten, by tag and by frequency."""
    table = pa.Table.from_pylist(rows)
    tags = rows_where(table, "property", "tag").sort_by([("n", "descending")]).slice(0, MOST_TAGS)
    bands = rows_where(table, "property", "frequency")
    bands = bands.take(pc.sort_indices(pc.index_in(bands["value"], pa.array([name for _, name in BANDS]))))
    positions = next(row["n"] for row in rows if row["property"] == EVERY_PLACE)
    return lines(
        longer(pa.concat_tables([tags, bands]), *_GUESSES), "value", points=True, panel="property", own_scales=True,
        columns=1, height=1.6, y_scale="share", x_label="",
        names={"tag": "by part of speech (Penn tag)", "frequency": "by times per million tokens"},
        title=f"Predictions at {positions:,} masked positions", y_label="share of the masked positions",
    )  # fmt: skip


def _translations(rows: Rows) -> Figure:
    """Draw the mean reciprocal rank of a sentence's translation by layer, with a line for each pair of languages."""
    table = pa.Table.from_pylist([
        {**row, "layer": _layer(row["space"]), "pair": f"{row['language']} to {row['other']}"}
        for row in rows
        if ":" in row["space"]
    ])  # fmt: skip
    return lines(
        table, "layer", "reciprocal_rank", dotted="chance", colour="pair", y_scale="share",
        series={pair: pair for pair in sorted(pc.unique(table["pair"]).to_pylist())},
        title="Rank of a sentence's translation among all sentences",
        y_label="mean reciprocal rank (bands: 95 %; dotted: chance)",
    )  # fmt: skip


def precision_figure(rows: Rows) -> Figure:
    """Draw the precision of neighbours by the size of the code, with a panel for each label, and the lost variance."""
    codes = [row for row in rows if row["method"] in (PCA, AUTOENCODER)]
    sizes = sorted({row["size"] for row in codes})
    # What has one size alone, such as a control, is drawn at all of them.
    levels = [{**row, "size": size} for row in rows if row not in codes for size in sizes]
    shown = [{**row, "panel": row["label"], "y": row["precision"]} for row in codes + levels]
    shown += [{**row, "panel": _LOST, "y": row["error"], "low": None, "high": None} for row in codes]
    table = pa.Table.from_pylist([{**row, "series": f"{row['method']} {row['code']}"} for row in shown])
    classes = sorted((row["label"], f"{row['label']}, {row['classes']} classes") for row in rows)
    return lines(
        table, "size", series=_CODES, factors=True,
        names=dict(list(dict(classes).items())[:MOST_LABELS]) | {_LOST: f"{_LOST} (share)"}, y_scale="share",
        title="How often short codes find sentences of the same class (bands: 95 %)", x_label="dimensions or bits",
        y_label=f"share of the {rows[0]['neighbours']} nearest",
    )  # fmt: skip


def confusion_figure(rows: Rows) -> Figure:
    """Draw accuracy by features, with a panel for each set and a line for each number of training examples."""
    every = {name: max(r["n"] for r in rows if r["set"] == name) for name in dict.fromkeys(r["set"] for r in rows)}
    common = sorted(set.intersection(*({r["n"] for r in rows if r["set"] == name} - {n} for name, n in every.items())))
    drawn = {common[round(i * (len(common) - 1) / (MOST_NUMBERS - 1))] for i in range(MOST_NUMBERS) if common}
    shown = [{**row, "number": EVERY_EXAMPLE} for row in rows if row["n"] == every[row["set"]]]
    majority = {row["set"]: row["accuracy"] for row in shown if row["features"] == MAJORITY}
    shown += [{**row, "number": f"{row['n']:,}"} for row in rows if row["n"] in drawn]
    places = [
        {**row, "at": row["features"].rpartition(":")[2]}
        for row in sorted(shown, key=lambda row: _layer(row["features"]))
        if row["features"] == WORDS or ":" in row["features"]
    ]
    figure = lines(
        pa.Table.from_pylist(places), "at", "accuracy", colour="number",
        series={EVERY_EXAMPLE: EVERY_EXAMPLE, **{f"{n:,}": f"{n:,} examples" for n in sorted(drawn, reverse=True)}},
        panel="set", x_label="surrounding words, or layer",
        names={name: f"{name.replace(' ', ' / ')}, {n:,} examples" for name, n in every.items()},
        title="Choosing among confused words, by features and number of examples (bands: 95 %)",
        y_label="accuracy (dotted: the most frequent word)",
    )  # fmt: skip
    for axes, name in zip(figure.axes, every, strict=True):
        if name in majority:
            axes.axhline(majority[name], color=INK, linestyle=":", linewidth=0.8)
    return figure


def _layer(name: str) -> int:
    """Return the number of a layer by the name of its space or features; -1 for other names."""
    return int(name.partition(":")[2] or -1)


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
    """Draw the codes of `meaning/plane` coloured by their classes for a label, a panel for each method.

    Rare classes, and rows without a class, have no colour.
    """
    methods = names_of(plane, "method", _METHODS)
    title = f"Held-out sentences in two dimensions, by {label} (grey: rarer classes)"
    figure, grid = panels(list(methods.values()), title, own_scales=True)
    points, groups = np.column_stack([plane["x"], plane["y"]]), np.array(classes, object)
    for axes, method in zip(grid, methods, strict=True):
        rows = np.flatnonzero(pc.equal(plane["method"], method))
        rows = rows[:: max(-(-len(rows) // MOST_POINTS), 1)]
        scatter(axes, points[rows], groups[rows].tolist(), largest(classes))
    return finish(figure, "first dimension of the code", "second dimension of the code")
