"""Read the main findings of `compare` and put them into words, each next to its null."""

from collections.abc import Container
from typing import Any

from ops.compare.property_names import in_words, measure_in_words
from ops.compare.run_scores import BY_CHANCE
from ops.compare.unit_matches import UNIVERSAL_FROM
from ops.facts.text import interval, number, percent, shorten, wrap
from ops.storage.store import Store
from ops.storage.tables import read_table
from ops.topk.silent import read_heard

Rows = list[dict[str, Any]]

# The tables that the findings are read from.
_READ = (
    "compare/runs", "compare/universal", "compare/rotated", "compare/dimensions", "compare/nearest",
    "compare/group_quality", "compare/group_traits", "compare/diversity", "compare/shift_layers",
    "compare/shift_neurons", "compare/ablation",
)  # fmt: skip
_SHOWN = (
    "neurons:mean",
    "neurons:std",
    "neurons:kurtosis",
    "means:words_per_sentence:top",
    "means:verbs_per_sentence:top",
    "means:nouns_per_sentence:top",
)
# The scores of two runs to list first, if they were measured.
_MEASURED_FIRST = (
    ("explanations", "f1"),
    ("explanations", "r2_beyond"),
    ("scores", "auc_excess"),
    ("audit/neurons", "transfer"),
)


def read_findings(store: Store, tables: Container[str]) -> dict[str, Rows]:
    """Return the rows of the tables behind the findings, by table, as far as the run has them."""
    found: dict[str, Rows] = {table: read_table(store, table).to_pylist() for table in _READ if table in tables}
    if "compare/shift_neurons" in found:
        neurons = read_heard(store, "compare/shift_neurons").to_pylist()
        found["compare/shift_neurons"] = sorted(neurons, key=lambda row: -row["shift"])
    return found


def lay_out_comparison(found: dict[str, Rows], rows: int, width: int) -> str:
    """Return the findings as text.

    Args:
        found: the rows of the tables of all finished parts, by table (`compare/rotated`, ...).
        rows: lines per list.
        width: characters per line.
    """
    parts = (
        ("compare/runs", _runs),
        ("compare/universal", _matches),
        ("compare/rotated", _dimensions),
        ("compare/nearest", _neighbours),
        ("compare/group_quality", _groups),
        ("compare/diversity", _diversity),
        ("compare/shift_layers", _shift),
        ("compare/ablation", _ablation),
    )
    blocks = [lay_out(found, rows) for table, lay_out in parts if table in found]
    return "\n\n".join("\n".join(_fit(line, width) for line in block) for block in blocks)


def _fit(line: str, width: int) -> str:
    # Columns are cut at the width, and running text is wrapped.
    return shorten(line, width) if line.startswith("  ") else wrap(line, width)


def _runs(found: dict[str, Rows], rows: int) -> list[str]:
    table = [row for row in found["compare/runs"] if row["layer"] is None]
    measured = {(row["table"], row["measure"]): row for row in table if row["share_above"] is not None}
    shown = [key for key in _MEASURED_FIRST if key in measured]
    shown += [key for key in measured if key not in shown]
    lines = [_above_control(key, measured[key]) for key in shown[:1]]
    lines.append("Scores of this run and its control over all layers that both have (95 %: the control's quantile)")
    lines.append(f"  {'measure':<25}{'n':>7}{'median':>8}{'control':>8}{'95 %':>7}{'above it':>9}  interval")
    for key in shown[: max(rows, len(_MEASURED_FIRST))]:
        row = measured[key]
        widths = {"median": 8, "control_median": 8, "control_q95": 7}
        cells = [number(row[name], ".3f", width) for name, width in widths.items()]
        low, high = (percent(row[name], ".3g") for name in ("share_low", "share_high"))
        share, ends = percent(row["share_above"], ".1f"), f"{low.removesuffix(' %')} to {high}"
        lines.append(f"  {measure_in_words(*key):<25}{row['n']:>7,}{''.join(cells)}{share:>8}  {ends}")
    shares = [
        f"{row['measure'].removeprefix('verdict ')} {percent(row['mean'], '.0f')} "
        f"({percent(row['control_mean'], '.0f')})"
        for row in table
        if row["table"] == "explanations" and row["measure"].startswith("verdict ")
    ]
    if shares:
        lines.append(f"Verdicts of explanations (the control's in parentheses): {', '.join(shares)}.")
    return lines


def _above_control(key: tuple[str, str], row: dict[str, Any]) -> str:
    """Say in words whether a run's scores exceed its control's."""
    share, low, high = (percent(row[name], ".3g") for name in ("share_above", "share_low", "share_high"))
    said = (
        f"Of {row['n']:,} neurons and poles, {share} ({low.removesuffix(' %')} to {high}) are above the control's 95 % "
        f"quantile of {measure_in_words(*key)}. If the run were no different from the control, 5 % would be."
    )
    if row["share_high"] < BY_CHANCE:
        return f"Worse than the control: {said[0].lower()}{said[1:]}"
    if row["share_low"] <= BY_CHANCE:
        return f"No better than the control: {said[0].lower()}{said[1:]}"
    return said


def _matches(found: dict[str, Rows], rows: int) -> list[str]:
    table = found["compare/universal"]
    whole = {round(row["threshold"], 1): row for row in table if row["layer"] is None}
    above, units = whole[UNIVERSAL_FROM], f"{whole[UNIVERSAL_FROM]['n']:,} units"
    if above["share"] is None:
        lines = [
            f"Of {units}, {percent(above['correlated'], '.3g')} have a match in the other run with an absolute "
            f"correlation above {UNIVERSAL_FROM}. Features have no rotated layers to compare this with."
        ]
    else:
        lines = [
            f"Of {units}, {percent(above['share'], '.3g')} have a match in the other run whose absolute correlation "
            f"exceeds that of the best axis of rotated layers by more than {UNIVERSAL_FROM}. For "
            f"{percent(whole[0.0]['share'], '.3g')} it is higher by any amount (about half by chance)."
        ]
    lines.append(
        "Share of units whose best match exceeds a threshold: by its excess over rotated layers, by its |correlation|, "
        "and for rotated layers"
    )
    lines.append(f"  {'above':<8}{'excess':>9}{'|correlation|':>15}{'rotated':>9}")
    for threshold in (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9):
        row = whole[threshold]
        cells = [number(row[name], ".3f", width) for name, width in (("share", 9), ("correlated", 15), ("rotated", 9))]
        lines.append(f"  {threshold:<8}{''.join(cells)}")
    return lines


def _dimensions(found: dict[str, Rows], rows: int) -> list[str]:
    table = found["compare/rotated"]
    lines = [
        "Mean correlation between units with the same number in two layers: neighbours, or the first and the last. "
        "Control: axes of rotated bases, which are not units",
        f"  {'property':<34}{'neighbours':>11}{'rotated':>9}{'first, last':>13}{'rotated':>9}",
    ]
    last = max((row["layer_b"] for row in table), default=1)
    beyond = sum(row["correlation"] > row["rotated_high"] for row in table)
    by_chance = sum(1 / (1 + row["rotations"]) for row in table)
    for name in _SHOWN[:rows]:
        own = [row for row in table if row["property"] == name]
        near = [row for row in own if row["layer_b"] - row["layer_a"] == 1]
        far = [row for row in own if (row["layer_a"], row["layer_b"]) == (1, last)]
        cells = [_mean(some, column) for some in (near, far) for column in ("correlation", "rotated_mean")]
        widths = (11, 9, 13, 9)
        lines.append(
            f"  {in_words(name):<34}" + "".join(number(c, ".2f", w) for c, w in zip(cells, widths, strict=True))
        )
    lines.append(
        f"  Above every rotated basis: {beyond:,} of {len(table):,} correlations "
        f"({number(by_chance, '.1f')} by chance)."
    )
    for against, own in (("rotated bases", table), ("permuted units", found.get("compare/dimensions", []))):
        clear = sum(row["q_value"] < 0.05 for row in own)
        lines.append(f"  Against {against}: {clear:,} of {len(own):,} have q < 0.05, corrected for all tests.")
    return lines


def _neighbours(found: dict[str, Rows], rows: int) -> list[str]:
    lines = ["Each neuron's nearest neuron: mean correlation and overlap of winners, next to what chance gives"]
    lines.append(
        f"  {'reach':<10}{'correlation':>13}{'rotated':>9}{'shuffled':>10}{'overlap':>10}{'random winners':>16}"
    )
    columns = ("correlation", "correlation_of_rotated", "correlation_of_shuffled", "overlap", "overlap_of_shuffled")
    for reach in ("within", "across"):
        own = [row for row in found["compare/nearest"] if row["reach"] == reach]
        if own:
            cells = [number(_mean(own, c), ".3f", w) for c, w in zip(columns, (13, 9, 10, 10, 16), strict=True)]
            lines.append(f"  {reach:<10}{''.join(cells)}")
    return lines


def _groups(found: dict[str, Rows], rows: int) -> list[str]:
    lines = [
        "Groups by k-means, as means over layers: how distinct they are (silhouette) and how stable (agreement: "
        "adjusted Rand index). Control: activations shuffled over the sentences, which keep only each neuron's mean "
        "and spread"
    ]
    lines.append(f"  {'groups of':<14}{'groups':>7}{'silhouette':>12}{'shuffled':>10}{'agreement':>11}{'shuffled':>10}")
    table = [row for row in found["compare/group_quality"] if row["layer"]]
    columns = ("silhouette", "silhouette_of_shuffled", "rand_index", "rand_index_of_shuffled")
    for grouped in ("neurons", "sentences"):
        for groups in sorted({row["groups"] for row in table if row["grouped"] == grouped})[:rows]:
            own = [row for row in table if (row["grouped"], row["groups"]) == (grouped, groups)]
            cells = [number(_mean(own, c), ".3f", w) for c, w in zip(columns, (12, 10, 11, 10), strict=True)]
            lines.append(f"  {grouped:<14}{groups:>7}{''.join(cells)}")
    traits = [row for row in found.get("compare/group_traits", []) if row["layer"] == 0 and row["rank"] == 1]
    if traits:
        lines.append("What most distinguishes groups of neurons from all layers (share in the group and outside it)")
        for row in sorted(traits, key=lambda row: -row["g2"])[:rows]:
            shares = f"{percent(row['share'], '.0f')} and {percent(row['other_share'], '.0f')}"
            lines.append(f"  group {row['group']:<3}{row['n']:>6,} neurons  {shares:<14} {row['kind']} {row['trait']}")
    return lines


def _diversity(found: dict[str, Rows], rows: int) -> list[str]:
    table = found["compare/diversity"]
    numbers = sorted({row["clusters"] for row in table})
    shown = [n for n in (1, 10, 100) if n in numbers] or numbers[:3]
    lines = ["Diversity: k-means error per winner's vector (in parentheses: divided by that of uniform sentences)"]
    lines.append("  layer" + "".join(f"{f'{n} clusters':>20}" for n in shown))
    for layer in sorted({row["layer"] for row in table}):
        cells = []
        for n in shown:
            own = [row for row in table if (row["layer"], row["clusters"]) == (layer, n)]
            ratio = [row["sse"] / row["sse_of_uniform"] for row in own if row["sse_of_uniform"]]
            cells.append(
                f"{number(own[0]['sse_per_point'], '.3f')} ({number(ratio[0], '.2f')})" if own and ratio else "-"
            )
        lines.append(f"  {layer:>5}" + "".join(f"{cell:>20}" for cell in cells))
    return lines


def _shift(found: dict[str, Rows], rows: int) -> list[str]:
    lines = ["Mean distance between a sentence's vectors in this model and the other (95 % interval)"]
    lines.append(f"  {'text set':<20}{'sentences':>10}  {'Manhattan':<23}Euclidean")
    whole = [row for row in found["compare/shift_layers"] if not row["layer"]]
    for row in sorted(whole, key=lambda row: -row["manhattan"])[: max(rows, 10)]:
        cells = [
            number(row[d], ".4g") + interval(row[f"{d}_low"], row[f"{d}_high"], ".4g")
            for d in ("manhattan", "euclidean")
        ]
        lines.append(f"  {row['text_set']:<20}{row['n']:>10,}  {cells[0]:<23}{cells[1]}")
    neurons = found.get("compare/shift_neurons", [])
    if neurons:
        lines.append(
            "  moved most: "
            + ", ".join(f"{r['layer']}:{r['unit']} {number(r['shift'], '.3g')}" for r in neurons[:rows])
        )
        same = _mean(neurons, "jaccard")
        if same is not None:
            lines.append(f"  winners in common with the other run: mean Jaccard index {number(same, '.3f')}")
    return lines


def _ablation(found: dict[str, Rows], rows: int) -> list[str]:
    table = [row for row in found["compare/ablation"] if row["moved"] is not None]
    lines = [
        "Neurons set to their mean, those that move later layers most first. moved: how far other neurons of later "
        "layers move on average, in standard deviations. random: the same for random neurons of their layer with a "
        "similar spread. own unit: how far the same unit of a later layer moves. other: the other neuron that moves "
        "most. most of: the property that the neuron was chosen for"
    ]
    lines.append(f"  {'neuron':<8}{'moved':>7}{'random':>8}{'own unit':>10}{'other':>7}  most of")
    seen: dict[tuple[int, int], dict[str, Any]] = {}
    for row in sorted(table, key=lambda row: -row["moved"]):
        seen.setdefault((row["layer"], row["unit"]), row)
    for (layer, unit), row in list(seen.items())[:rows]:
        widths = {"moved": 7, "random": 8, "own_moved": 10, "moved_b": 7}
        cells = [number(row[c], ".3f", w) for c, w in widths.items()]
        lines.append(f"  {f'{layer}:{unit}':<8}{''.join(cells)}  {row['property']}")
    tested = [row for row in seen.values() if row["p_value"] is not None]
    beyond = sum(row["moved"] > row["random_high"] for row in tested)
    by_chance = sum(1 / (1 + row["n_random"]) for row in tested)
    lines.append(
        f"  Above all of their random neurons: {beyond:,} of {len(tested):,} neurons "
        f"({number(by_chance, '.1f')} by chance)."
    )
    own = sum(row["own_moved"] is not None and row["own_moved"] > row["moved_b"] for row in seen.values())
    lines.append(f"  The same unit of a later layer moves furthest for {own:,} of {len(seen):,} neurons.")
    output = [row for row in found["compare/ablation"] if row["output"] is not None]
    if output:
        most = max(output, key=lambda row: row["output"])
        lines.append(
            f"  {most['layer']}:{most['unit']} moves the classifier's output most: total variation "
            f"{number(most['output'], '.3g')} (random: {number(most['output_random'], '.3g')})."
        )
    return lines


def _mean(rows: Rows, column: str) -> float | None:
    values = [row[column] for row in rows if row[column] is not None]
    return sum(values) / len(values) if values else None
