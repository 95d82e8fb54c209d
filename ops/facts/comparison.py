"""Read the main findings of `compare` and put them into words, each next to its null."""

from collections.abc import Callable, Container
from typing import Any

from ops.compare.property_names import in_words, measure_in_words
from ops.compare.run_scores import BY_CHANCE
from ops.compare.unit_matches import UNIVERSAL_FROM
from ops.facts.listing import Listing, numbers
from ops.facts.text import interval, number, percent
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
    """Return the rows of each table that the findings are read from, if the run has it."""
    found: dict[str, Rows] = {table: read_table(store, table).to_pylist() for table in _READ if table in tables}
    if "compare/shift_neurons" in found:
        neurons = read_heard(store, "compare/shift_neurons").to_pylist()
        found["compare/shift_neurons"] = sorted(neurons, key=lambda row: -row["shift"])
    return found


def comparisons(found: dict[str, Rows], rows: int) -> list[Listing]:
    """Return the findings as lists.

    Args:
        found: the rows of the tables of all finished parts, by table (`compare/rotated`, ...).
        rows: lines per list.
    """
    parts: dict[str, Callable[[dict[str, Rows], int], list[Listing]]] = {
        "compare/runs": _runs,
        "compare/universal": _matches,
        "compare/rotated": _dimensions,
        "compare/nearest": _neighbours,
        "compare/group_quality": _groups,
        "compare/diversity": _diversity,
        "compare/shift_layers": _shift,
        "compare/ablation": _ablation,
    }
    return [listing for table, part in parts.items() if table in found for listing in part(found, rows)]


def _runs(found: dict[str, Rows], rows: int) -> list[Listing]:
    table = [row for row in found["compare/runs"] if row["layer"] is None]
    measured = {(row["table"], row["measure"]): row for row in table if row["share_above"] is not None}
    shown = [key for key in _MEASURED_FIRST if key in measured]
    shown += [key for key in measured if key not in shown]
    shares = []
    for row in table:
        table_name, _, verdict = f"{row['table']} {row['measure']}".partition(" verdict ")
        if verdict and table_name == "explanations":
            shares.append(f"{verdict} {percent(row['mean'], '.0f')} ({percent(row['control_mean'], '.0f')})")
    about = "Scores of this run and its control over all layers that both have (95 %: the control's quantile)"
    return [
        Listing(
            " ".join([*(_above_control(key, measured[key]) for key in shown[:1]), f"{about}."]),
            ("measure", "n", "median", "control", "95 %", "above it", "interval"),
            [_score(key, measured[key]) for key in shown[: max(rows, len(_MEASURED_FIRST))]],
            [f"Verdicts of explanations (the control's in parentheses): {', '.join(shares)}."] if shares else [],
        )
    ]


def _score(key: tuple[str, str], row: dict[str, Any]) -> tuple[str, ...]:
    low, high = _percents(row, ("share_low", "share_high"), ".3g")
    scores = numbers(row, ("median", "control_median", "control_q95"), ".3f")
    interval = f"{low.removesuffix(' %')} to {high}"
    return measure_in_words(*key), f"{row['n']:,}", *scores, percent(row["share_above"], ".1f"), interval


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


def _matches(found: dict[str, Rows], rows: int) -> list[Listing]:
    whole = {round(row["threshold"], 1): row for row in found["compare/universal"] if row["layer"] is None}
    above, units = whole[UNIVERSAL_FROM], f"{whole[UNIVERSAL_FROM]['n']:,} units"
    if above["share"] is None:
        said = (
            f"Of {units}, {percent(above['correlated'], '.3g')} have a match in the other run with an absolute "
            f"correlation above {UNIVERSAL_FROM}. Features have no rotated layers to compare this with."
        )
    else:
        said = (
            f"Of {units}, {percent(above['share'], '.3g')} have a match in the other run whose absolute correlation "
            f"exceeds that of the best axis of rotated layers by more than {UNIVERSAL_FROM}. For "
            f"{percent(whole[0.0]['share'], '.3g')} it is higher by any amount (about half by chance)."
        )
    return [
        Listing(
            f"{said} Share of units whose best match exceeds a threshold: by its excess over rotated layers, by its "
            "|correlation|, and for rotated layers.",
            ("above", "excess", "|correlation|", "rotated"),
            [
                (str(threshold), *numbers(whole[threshold], ("share", "correlated", "rotated"), ".3f"))
                for threshold in (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
            ],
        )
    ]


def _dimensions(found: dict[str, Rows], rows: int) -> list[Listing]:
    table = found["compare/rotated"]
    last = max((row["layer_b"] for row in table), default=1)
    beyond = sum(row["correlation"] > row["rotated_high"] for row in table)
    by_chance = sum(1 / (1 + row["rotations"]) for row in table)
    lines = []
    for name in _SHOWN[:rows]:
        own = [row for row in table if row["property"] == name]
        near = [row for row in own if row["layer_b"] - row["layer_a"] == 1]
        far = [row for row in own if (row["layer_a"], row["layer_b"]) == (1, last)]
        cells = (_mean(some, column) for some in (near, far) for column in ("correlation", "rotated_mean"))
        lines.append((in_words(name), *(number(cell, ".2f") for cell in cells)))
    notes = [
        f"Above every rotated basis: {beyond:,} of {len(table):,} correlations ({number(by_chance, '.1f')} by chance)."
    ]
    for against, own in (("rotated bases", table), ("permuted units", found.get("compare/dimensions", []))):
        clear = sum(row["q_value"] < 0.05 for row in own)
        notes.append(f"Against {against}: {clear:,} of {len(own):,} have q < 0.05, corrected for all tests.")
    about = (
        "Mean correlation between units with the same number in two layers: neighbours, or the first and the last. "
        "Control: axes of rotated bases, which are not units."
    )
    return [Listing(about, ("property", "neighbours", "rotated", "first, last", "rotated"), lines, notes)]


def _neighbours(found: dict[str, Rows], rows: int) -> list[Listing]:
    columns = ("correlation", "correlation_of_rotated", "correlation_of_shuffled", "overlap", "overlap_of_shuffled")
    by_reach = {r: [row for row in found["compare/nearest"] if row["reach"] == r] for r in ("within", "across")}
    return [
        Listing(
            "Each neuron's nearest neuron: mean correlation and overlap of winners, next to what chance gives.",
            ("reach", "correlation", "rotated", "shuffled", "overlap", "random winners"),
            [(reach, *_means(own, columns)) for reach, own in by_reach.items() if own],
        )
    ]


def _groups(found: dict[str, Rows], rows: int) -> list[Listing]:
    table = [row for row in found["compare/group_quality"] if row["layer"]]
    columns = ("silhouette", "silhouette_of_shuffled", "rand_index", "rand_index_of_shuffled")
    lines = []
    for grouped in ("neurons", "sentences"):
        for groups in sorted({row["groups"] for row in table if row["grouped"] == grouped})[:rows]:
            own = [row for row in table if (row["grouped"], row["groups"]) == (grouped, groups)]
            lines.append((grouped, str(groups), *_means(own, columns)))
    listings = [
        Listing(
            "Groups by k-means, as means over layers: how distinct they are (silhouette) and how stable (agreement: "
            "adjusted Rand index). Control: activations shuffled over the sentences, which keep only each neuron's "
            "mean and spread.",
            ("groups of", "groups", "silhouette", "shuffled", "agreement", "shuffled"),
            lines,
        )
    ]
    traits = [row for row in found.get("compare/group_traits", []) if row["layer"] == 0 and row["rank"] == 1]
    if traits:
        strongest = sorted(traits, key=lambda row: -row["g2"])[:rows]
        listings.append(
            Listing(
                "What most distinguishes groups of neurons from all layers (share in the group and outside it).",
                ("group", "neurons", "share", "outside", "trait"),
                [
                    (
                        str(row["group"]),
                        f"{row['n']:,}",
                        *_percents(row, ("share", "other_share"), ".0f"),
                        f"{row['kind']} {row['trait']}",
                    )
                    for row in strongest
                ],
            )
        )
    return listings


def _diversity(found: dict[str, Rows], rows: int) -> list[Listing]:
    table = {(row["layer"], row["clusters"]): row for row in found["compare/diversity"]}
    clusters = sorted({n for _, n in table})
    shown = [n for n in (1, 10, 100) if n in clusters] or clusters[:3]

    def cell(row: dict[str, Any] | None) -> str:
        if row is None or not row["sse_of_uniform"]:
            return "-"
        return f"{number(row['sse_per_point'], '.3f')} ({number(row['sse'] / row['sse_of_uniform'], '.2f')})"

    return [
        Listing(
            "Diversity: k-means error per winner's vector (in parentheses: divided by that of uniform sentences).",
            ("layer", *(f"{n} clusters" for n in shown)),
            [
                (str(layer), *(cell(table.get((layer, n))) for n in shown))
                for layer in sorted({own for own, _ in table})
            ],
        )
    ]


def _shift(found: dict[str, Rows], rows: int) -> list[Listing]:
    whole = sorted((row for row in found["compare/shift_layers"] if not row["layer"]), key=lambda r: -r["manhattan"])
    neurons, notes = found.get("compare/shift_neurons", []), []
    if neurons:
        moved = ", ".join(f"{r['layer']}:{r['unit']} {number(r['shift'], '.3g')}" for r in neurons[:rows])
        notes.append(f"moved most: {moved}")
        same = _mean(neurons, "jaccard")
        if same is not None:
            notes.append(f"winners in common with the other run: mean Jaccard index {number(same, '.3f')}")

    def distance(row: dict[str, Any], name: str) -> str:
        return number(row[name], ".4g") + interval(row[f"{name}_low"], row[f"{name}_high"], ".4g")

    return [
        Listing(
            "Mean distance between a sentence's vectors in this model and the other (95 % interval).",
            ("text set", "sentences", "Manhattan", "Euclidean"),
            [
                (row["text_set"], f"{row['n']:,}", distance(row, "manhattan"), distance(row, "euclidean"))
                for row in whole[: max(rows, 10)]
            ],
            notes,
        )
    ]


def _ablation(found: dict[str, Rows], rows: int) -> list[Listing]:
    table = [row for row in found["compare/ablation"] if row["moved"] is not None]
    seen: dict[tuple[int, int], dict[str, Any]] = {}
    for row in sorted(table, key=lambda row: -row["moved"]):
        seen.setdefault((row["layer"], row["unit"]), row)
    tested = [row for row in seen.values() if row["p_value"] is not None]
    beyond = sum(row["moved"] > row["random_high"] for row in tested)
    by_chance = sum(1 / (1 + row["n_random"]) for row in tested)
    own = sum(row["own_moved"] is not None and row["own_moved"] > row["moved_b"] for row in seen.values())
    notes = [
        f"Above all of their random neurons: {beyond:,} of {len(tested):,} neurons "
        f"({number(by_chance, '.1f')} by chance).",
        f"The same unit of a later layer moves furthest for {own:,} of {len(seen):,} neurons.",
    ]
    output = [row for row in found["compare/ablation"] if row["output"] is not None]
    if output:
        most = max(output, key=lambda row: row["output"])
        notes.append(
            f"{most['layer']}:{most['unit']} moves the classifier's output most: total variation "
            f"{number(most['output'], '.3g')} (random: {number(most['output_random'], '.3g')})."
        )
    about = (
        "Neurons set to their mean, those that move later layers most first. moved: how far other neurons of later "
        "layers move on average, in standard deviations. random: the same for random neurons of their layer with a "
        "similar spread. own unit: how far the same unit of a later layer moves. other: the other neuron that moves "
        "most. most of: the property that the neuron was chosen for."
    )
    columns = ("moved", "random", "own_moved", "moved_b")
    return [
        Listing(
            about,
            ("neuron", "moved", "random", "own unit", "other", "most of"),
            [
                (f"{layer}:{unit}", *numbers(row, columns, ".3f"), row["property"])
                for (layer, unit), row in list(seen.items())[:rows]
            ],
            notes,
        )
    ]


def _percents(row: dict[str, Any], columns: tuple[str, ...], form: str) -> tuple[str, ...]:
    return tuple(percent(row[column], form) for column in columns)


def _means(rows: Rows, columns: tuple[str, ...]) -> tuple[str, ...]:
    return numbers({column: _mean(rows, column) for column in columns}, columns, ".3f")


def _mean(rows: Rows, column: str) -> float | None:
    values = [row[column] for row in rows if row[column] is not None]
    return sum(values) / len(values) if values else None
