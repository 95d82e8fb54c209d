"""The figures of the parts of compare (after Oba 2021): lines, points, heat maps, and maps of groups."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from ops.arrays import Float64s
from ops.compare.ablation import Effect
from ops.compare.layer_agreement import standard_scores
from ops.compare.property_names import in_words, measure_in_words
from ops.compare.run_scores import BY_CHANCE, Values
from ops.compare.unit_matches import UNIVERSAL_FROM
from ops.figures.lines import draw_lines, layer_names, lines, longer, quantiles, quantiles_of, with_panels
from ops.figures.maps import colour_bar, heat_map, largest, scatter
from ops.figures.panels import finish, logarithmic, panels, set_scale
from ops.figures.style import COLOURS, DIVERGING, GROUND, LEVEL

_DIVERSITY = (
    ("mean squared distance to the nearest centre (dotted: a uniform sample of sentences)", "", "sse_per_point",
     "uniform_per_point"),
    ("winners' squared distances divided by those of the uniform sample", "", "ratio"),
)  # fmt: skip
_NEAREST = (
    ("correlation", "nearest neuron", "correlation"),
    ("correlation", "nearest axis of a random rotation", "correlation_of_rotated"),
    ("correlation", "nearest neuron, sentences shuffled", "correlation_of_shuffled"),
    ("overlap", "nearest neuron", "overlap"),
    ("overlap", "random sentences as winners", "overlap_of_shuffled"),
)
_REACHES = {"within": "neurons of the same layer", "across": "neurons of other layers"}
_KINDS = {"correlation": "correlation of activations", "overlap": "share of common winners"}
_MATCHES = (("", "best match in the other run", "correlated"), ("", "best axis of rotated layers", "rotated"))
_DISTANCES = ("manhattan", "euclidean")
MOST_LINES = 6  # maximum number of text sets that are drawn by layer
_AGREEMENT = (
    ("", "units", "correlation"),
    ("", "axes of rotated bases (band: lowest to highest)", "rotated_mean", "rotated_low", "rotated_high"),
)
_MEANS = tuple(f"means:{kind}_per_sentence:top" for kind in ("words", "verbs", "nouns"))
_PROPERTIES, HEAT_MAPS = ("neurons:mean", "neurons:std", *_MEANS), (*_MEANS, "neurons:mean")
_MEASURES = {"silhouette": "silhouette (-1 to 1)", "rand_index": "adjusted Rand index"}
_QUALITY = tuple(
    (measure, series, f"{measure}{end}")
    for measure in _MEASURES
    for series, end in (("activations", ""), ("activations shuffled over sentences", "_of_shuffled"))
)
# The measures of runs that are drawn, if both runs have them.
SHOWN = (
    ("explanations", "f1"),
    ("explanations", "r2_beyond"),
    ("scores", "auc_excess"),
    ("explanations", "average_precision"),
    ("audit/neurons", "transfer"),
    ("audit/neurons", "illusion"),
)
Pairs = Mapping[tuple[str, str], tuple[Values, Values]]
FIRST = 12  # neurons whose names are shown
Neuron = tuple[int, int]  # layer and unit
Null = Mapping[Neuron, Mapping[Neuron, Effect]]  # for each neuron, the random ones that it is compared with
Rows = list[dict[str, Any]]
_EFFECTS = {
    "moved": "how far neurons of later layers move (mean, in their standard deviations)",
    "output": "how far the classifier's output moves (total variation, 0 to 1)",
}
_ABLATED = {"own": "neurons highest in a property", "random": "random neurons of the same layer with a similar spread"}


def diversity_figure(diversity: pa.Table) -> Figure:
    """Draw the error per winner and its ratio to that of uniform sentences, with a line for each layer."""
    uniform = diversity["sse_of_uniform"]
    table = diversity.append_column("uniform_per_point", pc.divide(uniform, diversity["n"].cast(pa.float64())))
    known = pc.if_else(pc.greater(uniform, 0), uniform, None)
    table = table.append_column("ratio", pc.divide(diversity["sse"], known))
    figure = lines(
        longer(table, *_DIVERSITY), "clusters", dotted="low", colour="layer", series=layer_names(table), ordered=True,
        own_scales=True, factors=True, x_label="k-means clusters", y_label="",
        title="How diverse the winners of a layer are (after Oba 2021, Figure 3)",
    )  # fmt: skip
    for axes in figure.axes[1:]:
        axes.axhline(1, **LEVEL)
    return figure


def nearest_figure(nearest: pa.Table) -> Figure:
    """Draw the mean similarity of the nearest neuron by layer, with a panel for each kind and reach."""
    labels = {f"{kind}:{reach}": text for reach in _REACHES for kind, text in _KINDS.items()}
    return lines(
        with_panels(longer(nearest, *_NEAREST), "panel", "reach"), "layer",
        names={key: _REACHES[key.partition(":")[2]] for key in labels}, own_scales=True, y_label=labels, y_scale="zero",
        title="How similar the nearest neuron is (mean over neurons drawn from each layer)",
    )  # fmt: skip


def matches_figure(universal: pa.Table, model: str, other: str) -> Figure:
    """Draw the share of units above a threshold, next to rotated layers and as the excess over them by layer."""
    by_layer = universal.filter(pc.and_(pc.is_valid(universal["layer"]), pc.is_valid(universal["share"])))
    titles = ["all layers, by the minimum absolute correlation"]
    if by_layer.num_rows:
        titles.append(f"each layer, by the minimum excess over rotated layers (dotted: {UNIVERSAL_FROM})")
    figure, grid = panels(titles, f"Units of {model} with a match in {other}")
    whole = universal.filter(pc.is_null(universal["layer"]))
    draw_lines(grid[0], longer(whole, *_MATCHES), "threshold")
    for axes in grid[1:]:
        draw_lines(axes, by_layer, "threshold", "share", colour="layer", series=layer_names(by_layer), ordered=True)
        axes.axvline(UNIVERSAL_FROM, **LEVEL, linestyle=":")
    set_scale(grid[0], "y", "share")
    return finish(figure, "threshold", "share of units")


def shift_figure(rows: pa.Table, model: str, against: str) -> Figure:
    """Draw both distances with intervals, by text set and by layer.

    If there are too many text sets for distinct lines, the panels by layer show those that moved most.
    """
    whole, layers = (rows.filter(test(rows["layer"], 0)) for test in (pc.equal, pc.greater))
    moved = whole.sort_by([("manhattan", "descending")])["text_set"].to_pylist()[:MOST_LINES]
    titles = [f"{distance}, {of}" for distance in _DISTANCES for of in ("all layers together", "by layer")]
    title = f"{model} and {against}: mean distance between a sentence's two vectors (95 % intervals)"
    figure, grid = panels(titles, title, own_scales=True)
    for distance, left, right in zip(_DISTANCES, grid[::2], grid[1::2], strict=True):
        ends: dict[str, Any] = {"low": f"{distance}_low", "high": f"{distance}_high"}
        draw_lines(left, whole, "text_set", distance, points=True, **ends)
        draw_lines(right, layers, "layer", distance, colour="text_set", series={n: n for n in moved}, **ends)
    for axes in grid:
        set_scale(axes, "y", "zero")
    return finish(figure, "text set, or layer", "distance")


def agreement_figure(rotated: pa.Table) -> Figure:
    """Draw the mean correlation of layers by their distance, next to rotated bases, with a panel for each property."""
    pairs = longer(rotated, *_AGREEMENT)
    pairs = pairs.append_column("apart", pc.subtract(pairs["layer_b"], pairs["layer_a"]))
    means = pairs.group_by(["property", "series", "apart"], use_threads=False).aggregate(
        [(name, "mean") for name in ("y", "low", "high")]
    )
    return lines(
        means, "apart", "y_mean", low="low_mean", high="high_mean", panel="property",
        names={name: in_words(name) for name in _PROPERTIES}, levels={0: ""}, x_label="layers apart",
        title="How far units of the same number agree across layers, next to rotated bases", y_label="mean correlation",
    )  # fmt: skip


def quality_figure(quality: pa.Table) -> Figure:
    """Draw how distinct and how stable groups are by their number, next to those of shuffled activations."""
    rows = with_panels(longer(quality.filter(pc.greater(quality["layer"], 0)), *_QUALITY), "panel", "grouped")
    over_layers = rows.group_by(["panel", "series", "groups"], use_threads=False).aggregate(
        [("y", end) for end in ("mean", "min", "max")]
    )
    names = {f"{m}:{of}": f"groups of {of}: {name}" for m, name in _MEASURES.items() for of in ("neurons", "sentences")}
    return lines(
        over_layers, "groups", "y_mean", low="y_min", high="y_max", names=names, x_label="number of groups", y_label="",
        own_scales=True,
        title="How distinct and how stable groups are: mean over layers (band: lowest to highest layer)",
    )  # fmt: skip


def run_figures(rows: pa.Table, pairs: Pairs, model: str, control: str) -> dict[str, Figure]:
    """Return the figures of scores in a run and in its control, and of the share above the control's quantile.

    `pairs` are the values in the run and in its control, by table and measure: those of `SHOWN`. Without any, there is
    no figure.
    """
    if not pairs:
        return {}
    names = {f"{table}:{measure}": measure_in_words(table, measure) for table, measure in SHOWN}
    scores = pa.concat_tables(
        pa.table(
            {"layer": values.layer, "value": values.value}
            | {name: [text] * len(values.value) for name, text in (("basis", basis), ("panel", ":".join(key)))}
        )
        for key, pair in pairs.items()
        for basis, values in zip(("run", "control"), pair, strict=True)
    )
    by_layer = rows.filter(pc.and_(pc.is_valid(rows["layer"]), pc.is_valid(rows["share_above"])))
    return {
        "distributions": quantiles(
            quantiles_of(scores, ["panel", "basis", "layer"], "value"), "layer", "basis", names=names,
            bases={"run": model, "control": f"control: {control}"}, y_label="",
            title=f"Scores of {model} and its control, {control}: median, quartiles, 5 % and 95 %",
        ),
        "shares": lines(
            with_panels(by_layer, "table", "measure"), "layer", "share_above", low="share_low", high="share_high",
            series={None: model}, names=names, y_label="share of neurons and poles", y_scale="zero",
            levels={BY_CHANCE: "5 %: no different from the control"},
            title=f"{model}: share above the 95 % quantile of its control, {control} (bands: 95 %)",
        ),
    }  # fmt: skip


def ablation_figures(ablation: pa.Table, random: Null) -> dict[str, Figure]:
    """Return the figure of neurons' effects and the null, or none if no neuron has a known effect.

    The panels show all neurons by layer, and those that most exceed the null's mean; with a classifier, a second row
    shows its output. `random` are, for each neuron, the effects of the random neurons drawn for it.
    """
    kinds = [kind for kind in _EFFECTS if ablation[kind].null_count < ablation.num_rows]
    if not kinds:
        return {}
    titles = ["all neurons, by layer", "largest effects relative to the random neurons, as layer:unit"] * len(kinds)
    title = "Setting a neuron to its mean: the effect on others"
    figure, grid = panels(titles, title, own_scales=True, columns=2)
    for kind, left, right in zip(kinds, grid[::2], grid[1::2], strict=True):
        every, first = effect_rows(ablation, random, kind)
        values = [row["y"] for row in every]
        for axes, rows, x in ((left, every, "layer"), (right, first, "neuron")):
            draw_lines(axes, pa.Table.from_pylist(rows), x, series=_ABLATED, points=True)
            logarithmic(axes, "y", min(values), max(values))
        left.set_ylabel(_EFFECTS[kind])
    return {"effects": finish(figure)}


def effect_rows(ablation: pa.Table, random: Null, kind: str) -> tuple[Rows, Rows]:
    """Return the points of both panels: all neurons, and those whose effects most exceed their random neurons' mean."""
    own = {(row["layer"], row["unit"]): row[kind] for row in ablation.to_pylist() if row[kind] is not None}
    null: dict[Neuron, dict[Neuron, float]] = {}
    for neuron in own:
        effects = {other: getattr(effect, kind) for other, effect in random.get(neuron, {}).items()}
        null[neuron] = {other: value for other, value in effects.items() if np.isfinite(value)}
    drawn = {other: value for others in null.values() for other, value in others.items()}
    every: Rows = [
        {"layer": layer, "series": series, "y": value}
        for series, points in (("own", own), ("random", drawn))
        for (layer, _), value in sorted(points.items())
    ]
    excess = {n: own[n] / max(float(np.mean(list(others.values()))), 1e-12) for n, others in null.items() if others}
    first: Rows = []
    for neuron in sorted(excess, key=lambda n: (-excess[n], n))[:FIRST]:
        name = f"{neuron[0]}:{neuron[1]}"
        first.append({"neuron": name, "series": "own", "y": own[neuron]})
        first += [{"neuron": name, "series": "random", "y": value} for value in null[neuron].values()]
    return every, first


def units_figures(
    properties: Mapping[str, Float64s], widths: tuple[int, ...], units: tuple[int, int]
) -> dict[str, Figure]:
    """Return the figure of some units' properties as heat maps, or none if layers differ in width.

    Args:
        properties: the values of each property by its name, `[neurons]`, which are standardised within each layer. A
            silent neuron (NaN) stays blank.
        units: first and last unit; narrower layers show their last units.
    """
    shown = {name: properties[name] for name in HEAT_MAPS if name in properties}
    if not shown or len(set(widths)) > 1:
        return {}
    layers, width, span = len(widths), widths[0], units[1] - units[0] + 1
    first = min(units[0], max(width - span, 0))
    stop = min(first + span, width)
    title = f"Units {first} to {stop - 1} by layer (after Oba 2021, Figure 2)"
    names = [in_words(name) for name in shown]
    figure, grid = panels(names, title, columns=1, height=max(0.13 * layers, 0.5))
    for axes, values in zip(grid, shown.values(), strict=True):
        values = values.reshape(layers, width)
        scores = standard_scores(values)[:, first:stop] * np.sqrt(np.isfinite(values).sum(1, keepdims=True))
        ends = (first - 0.5, stop - 0.5, 0.5, layers + 0.5)
        image = heat_map(axes, scores, -3, 3, cmap=DIVERGING, origin="lower", aspect="auto", extent=ends)
        axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    colour_bar(image, grid, "standard deviations from the layer's mean", extend="both")
    return {"units": finish(figure, "unit of the layer", "layer")}


def groups_figure(tables: Mapping[str, pa.Table], layer: int) -> Figure:
    """Draw the maps of neurons and of sentences of one layer by group, and that of all layers' neurons."""
    neurons, sentences = (
        tables[name].filter(pc.equal(tables[name]["layer"], layer))
        for name in ("compare/groups", "compare/sentence_groups")
    )
    maps = {
        f"neurons of layer {layer}": neurons,
        "neurons of all layers": tables["compare/joint_groups"],
        f"sentences by layer {layer}": sentences,
    }
    titles = [f"{len(table):,} {name}, {len(pc.unique(table['group']))} groups" for name, table in maps.items()]
    of = f"the {len(COLOURS)} largest are coloured and numbered"
    title = f"k-means groups on t-SNE maps (after Oba 2021, Figure 4): {of}"
    figure, grid = panels(titles, title, own_scales=True)
    look: dict[str, Any] = {"weight": "bold", "ha": "center", "va": "center"}
    look["path_effects"] = [withStroke(linewidth=2.5, foreground=GROUND)]
    for axes, table in zip(grid, maps.values(), strict=True):
        group, points = table["group"].to_numpy(), np.column_stack([table["x"].to_numpy(), table["y"].to_numpy()])
        named = dict.fromkeys(largest(group.tolist()), "")
        scatter(axes, points, group.tolist(), named)
        for number, colour in zip(named, COLOURS, strict=False):
            # The number of a group is at its most central point.
            members = points[group == number]
            x, y = members[((members - np.median(members, axis=0)) ** 2).sum(1).argmin()]
            axes.text(x, y, str(number), color=colour, **look)
    return finish(figure, "t-SNE axes (no unit); all other groups: grey")
