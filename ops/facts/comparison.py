"""Read the main findings of `compare` and put them into words, each next to its null."""

from collections.abc import Callable, Container, Iterator

from ops.compare.property_names import in_words, measure_in_words
from ops.compare.run_scores import BY_CHANCE
from ops.compare.unit_matches import UNIVERSAL_FROM
from ops.errors import counted
from ops.facts.listing import Listing
from ops.facts.rows import Row, Rows, grouped
from ops.facts.text import filled, number
from ops.storage.store import Store
from ops.storage.tables import read_table
from ops.topk.silent import read_heard

_SHOWN = (
    "neurons:mean", "neurons:std", "neurons:kurtosis",
    "means:words_per_sentence:top", "means:verbs_per_sentence:top", "means:nouns_per_sentence:top",
)  # fmt: skip
# The scores of two runs to list first, if they were measured.
_INTERVAL = "{low:.3g} to {share_high:.3g %}"
_MEASURED_FIRST = [
    ("explanations", "f1"), ("explanations", "r2_beyond"), ("scores", "auc_excess"), ("audit/neurons", "transfer"),
]  # fmt: skip


def read_findings(store: Store, tables: Container[str]) -> dict[str, Rows]:
    """Return the rows of each table that the findings are read from, if the run has it."""
    read = (table for table in (*_PARTS, *_READ_WITH_THEM) if table in tables)
    by_table: dict[str, Rows] = {table: read_table(store, table).to_pylist() for table in read}
    if "compare/shift_neurons" in by_table:
        neurons = read_heard(store, "compare/shift_neurons").to_pylist()
        by_table["compare/shift_neurons"] = sorted(neurons, key=lambda row: -row["shift"])
    return by_table


def comparisons(tables: dict[str, Rows], rows: int) -> list[Listing]:
    """Return the findings as lists of some rows, from what `read_findings` returns."""
    return [listing for table, part in _PARTS.items() if table in tables for listing in part(tables, rows)]


def _runs(tables: dict[str, Rows], rows: int) -> Iterator[Listing]:
    table = [row for row in tables["compare/runs"] if row["layer"] is None]
    measured = [
        row
        | {"name": measure_in_words(row["table"], row["measure"]), "low": row["share_low"] and 100 * row["share_low"]}
        for row in table
        if row["share_above"] is not None
    ]
    measured.sort(key=lambda row: [(row["table"], row["measure"]) != key for key in _MEASURED_FIRST])
    verdicts = [
        filled("{measure} {mean:.0f %} ({control_mean:.0f %})", row).removeprefix("verdict ")
        for row in table
        if row["table"] == "explanations" and row["measure"].startswith("verdict ")
    ]
    about = "Scores of this run and its control over all layers that both have (95 %: the control's quantile)."
    yield Listing.of(
        " ".join([*map(_above_control, measured[:1]), about]),
        [
            ("measure", "{name}"), ("n", "{n:,}"), ("median", "{median:.3f}"), ("control", "{control_median:.3f}"),
            ("95 %", "{control_q95:.3f}"), ("above it", "{share_above:.1f %}"), ("interval", _INTERVAL),
        ],
        measured[: max(rows, len(_MEASURED_FIRST))],
        [f"Verdicts of explanations (the control's in parentheses): {', '.join(verdicts)}."] if verdicts else [],
    )  # fmt: skip


def _above_control(row: Row) -> str:
    text = filled(
        f"Of {{n:,}} neurons and poles, {{share_above:.3g %}} ({_INTERVAL}) are above the control's 95 % quantile of "
        "{name}. If the run were no different from the control, 5 % would be.",
        row,
    )
    if row["share_low"] > BY_CHANCE:
        return text
    return f"{'Worse' if row['share_high'] < BY_CHANCE else 'No better'} than the control: {text[0].lower()}{text[1:]}"


def _matches(tables: dict[str, Rows], rows: int) -> Iterator[Listing]:
    whole = {round(row["threshold"], 1): row for row in tables["compare/universal"] if row["layer"] is None}
    above, units = whole[UNIVERSAL_FROM], f"{whole[UNIVERSAL_FROM]['n']:,} units"
    if above["share"] is None:
        summary = (
            f"Of {units}, {number(above['correlated'], '.3g %')} have a match in the other run with an absolute "
            f"correlation above {UNIVERSAL_FROM}. Features have no rotated layers to compare this with."
        )
    else:
        summary = (
            f"Of {units}, {number(above['share'], '.3g %')} have a match in the other run whose absolute correlation "
            f"exceeds that of the best axis of rotated layers by more than {UNIVERSAL_FROM}. For "
            f"{number(whole[0.0]['share'], '.3g %')} it is higher by any amount (about half by chance)."
        )
    yield Listing.of(
        f"{summary} Share of units whose best match exceeds a threshold: by its excess over rotated layers, by its "
        "|correlation|, and for rotated layers.",
        [
            ("above", "{threshold:.1f}"), ("excess", "{share:.3f}"), ("|correlation|", "{correlated:.3f}"),
            ("rotated", "{rotated:.3f}"),
        ],
        [whole[threshold] for threshold in (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)],
    )  # fmt: skip


def _dimensions(tables: dict[str, Rows], rows: int) -> Iterator[Listing]:
    table = tables["compare/rotated"]
    last = max((row["layer_b"] for row in table), default=1)
    beyond = sum(row["correlation"] > row["rotated_high"] for row in table)
    by_chance = sum(1 / (1 + row["rotations"]) for row in table)
    lines = []
    for name in _SHOWN[:rows]:
        pairs = [row for row in table if row["property"] == name]
        near = [row for row in pairs if row["layer_b"] - row["layer_a"] == 1]
        far = [row for row in pairs if (row["layer_a"], row["layer_b"]) == (1, last)]
        cells = (_mean(some, column) for some in (near, far) for column in ("correlation", "rotated_mean"))
        lines.append((in_words(name), *(number(cell, ".2f") for cell in cells)))
    notes = [
        f"Above every rotated basis: {beyond:,} of {len(table):,} correlations ({number(by_chance, '.1f')} by chance)."
    ]
    for against, tests in (("rotated bases", table), ("permuted units", tables.get("compare/dimensions", []))):
        clear = sum(row["q_value"] < 0.05 for row in tests)
        notes.append(f"Against {against}: {clear:,} of {len(tests):,} have q < 0.05, corrected for all tests.")
    about = (
        "Mean correlation between units with the same number in two layers: neighbours, or the first and the last. "
        "Control: axes of rotated bases, which are not units."
    )
    yield Listing(about, ("property", "neighbours", "rotated", "first, last", "rotated"), lines, notes)


def _neighbours(tables: dict[str, Rows], rows: int) -> Iterator[Listing]:
    by_reach = grouped(tables["compare/nearest"], ("reach",))
    yield Listing.of(
        "Each neuron's nearest neuron: mean correlation and overlap of winners, next to what chance gives.",
        [
            ("reach", "{reach}"), ("correlation", "{correlation:.3f}"), ("rotated", "{correlation_of_rotated:.3f}"),
            ("shuffled", "{correlation_of_shuffled:.3f}"), ("overlap", "{overlap:.3f}"),
            ("random winners", "{overlap_of_shuffled:.3f}"),
        ],
        [{"reach": reach} | _means(by_reach[reach,]) for reach in ("within", "across") if (reach,) in by_reach],
    )  # fmt: skip


def _groups(tables: dict[str, Rows], rows: int) -> Iterator[Listing]:
    lines = []
    for of in ("neurons", "sentences"):
        table = [row for row in tables["compare/group_quality"] if row["layer"] and row["grouped"] == of]
        for groups in sorted({row["groups"] for row in table}):
            means = _means([row for row in table if row["groups"] == groups])
            lines.append(means | {"grouped": of, "groups": groups})
    yield Listing.of(
        "Groups by k-means, as means over layers: how distinct they are (silhouette) and how stable (agreement: "
        "adjusted Rand index). Control: activations shuffled over the sentences, which keep only each neuron's "
        "mean and spread.",
        [
            ("groups of", "{grouped}"), ("groups", "{groups}"), ("silhouette", "{silhouette:.3f}"),
            ("shuffled", "{silhouette_of_shuffled:.3f}"), ("agreement", "{rand_index:.3f}"),
            ("shuffled", "{rand_index_of_shuffled:.3f}"),
        ],
        lines,
    )  # fmt: skip
    traits = [row for row in tables.get("compare/group_traits", []) if row["layer"] == 0 and row["rank"] == 1]
    if traits:
        yield Listing.of(
            "What most distinguishes groups of neurons from all layers (share in the group and outside it).",
            [
                ("group", "{group}"), ("neurons", "{n:,}"), ("share", "{share:.0f %}"),
                ("outside", "{other_share:.0f %}"), ("trait", "{kind} {trait}"),
            ],
            sorted(traits, key=lambda row: -row["g2"])[:rows],
        )  # fmt: skip


def _diversity(tables: dict[str, Rows], rows: int) -> Iterator[Listing]:
    table = {(row["layer"], row["clusters"]): row for row in tables["compare/diversity"]}
    clusters = sorted({n for _, n in table})
    shown = [n for n in (1, 10, 100) if n in clusters] or clusters[:3]

    def cell(row: Row | None) -> str:
        if row is None or not row["sse_of_uniform"]:
            return "-"
        return f"{number(row['sse_per_point'], '.3f')} ({number(row['sse'] / row['sse_of_uniform'], '.2f')})"

    yield Listing(
        "Diversity: k-means error per winner's vector (in parentheses: divided by that of uniform sentences).",
        ("layer", *(counted(n, "cluster") for n in shown)),
        [
            (str(layer), *(cell(table.get((layer, n))) for n in shown))
            for layer in sorted({layer for layer, _ in table})
        ],
    )


def _shift(tables: dict[str, Rows], rows: int) -> Iterator[Listing]:
    whole = sorted((row for row in tables["compare/shift_layers"] if not row["layer"]), key=lambda r: -r["manhattan"])
    neurons, notes = tables.get("compare/shift_neurons", []), []
    if neurons:
        moved = ", ".join(filled("{layer}:{unit} {shift:.3g}", row) for row in neurons[:rows])
        notes.append(f"moved most: {moved}")
        same = _mean(neurons, "jaccard")
        if same is not None:
            notes.append(f"winners in common with the other run: mean Jaccard index {number(same, '.3f')}")
    yield Listing.of(
        "Mean distance between a sentence's vectors in this model and the other (95 % interval).",
        [
            ("text set", "{text_set}"), ("sentences", "{n:,}"),
            ("Manhattan", "{manhattan:.4g} ({manhattan_low:.4g} to {manhattan_high:.4g})"),
            ("Euclidean", "{euclidean:.4g} ({euclidean_low:.4g} to {euclidean_high:.4g})"),
        ],
        whole[: max(rows, 10)],
        notes,
    )  # fmt: skip


def _ablation(tables: dict[str, Rows], rows: int) -> Iterator[Listing]:
    table = [row for row in tables["compare/ablation"] if row["moved"] is not None]
    by_neuron = grouped(sorted(table, key=lambda row: -row["moved"]), ("layer", "unit"))
    neurons = [neuron_rows[0] for neuron_rows in by_neuron.values()]
    tested = [row for row in neurons if row["p_value"] is not None]
    beyond = sum(row["moved"] > row["random_high"] for row in tested)
    by_chance = sum(1 / (1 + row["n_random"]) for row in tested)
    same_unit = sum(row["own_moved"] is not None and row["own_moved"] > row["moved_b"] for row in neurons)
    notes = [
        f"Above all of their random neurons: {beyond:,} of {len(tested):,} neurons "
        f"({number(by_chance, '.1f')} by chance).",
        f"The same unit of a later layer moves furthest for {same_unit:,} of {len(neurons):,} neurons.",
    ]
    output = [row for row in tables["compare/ablation"] if row["output"] is not None]
    if output:
        form = "moves the classifier's output most: total variation {output:.3g} (random: {output_random:.3g})."
        notes.append(filled(f"{{layer}}:{{unit}} {form}", max(output, key=lambda row: row["output"])))
    yield Listing.of(
        "Neurons set to their mean, those that move later layers most first. moved: how far other neurons of later "
        "layers move on average, in standard deviations. random: the same for random neurons of their layer with a "
        "similar spread. own unit: how far the same unit of a later layer moves. other: the other neuron that moves "
        "most. most of: the property that the neuron was chosen for.",
        [
            ("neuron", "{layer}:{unit}"), ("moved", "{moved:.3f}"), ("random", "{random:.3f}"),
            ("own unit", "{own_moved:.3f}"), ("other", "{moved_b:.3f}"), ("most of", "{property}"),
        ],
        neurons[:rows],
        notes,
    )  # fmt: skip


def _means(rows: Rows) -> Row:
    return {name: _mean(rows, name) for name, value in rows[0].items() if not isinstance(value, str)}


def _mean(rows: Rows, column: str) -> float | None:
    values = [row[column] for row in rows if row[column] is not None]
    return sum(values) / len(values) if values else None


# The lists by the table that each is about, and the tables that some of them read as well.
_PARTS: dict[str, Callable[[dict[str, Rows], int], Iterator[Listing]]] = {
    "compare/runs": _runs,
    "compare/universal": _matches,
    "compare/rotated": _dimensions,
    "compare/nearest": _neighbours,
    "compare/group_quality": _groups,
    "compare/diversity": _diversity,
    "compare/shift_layers": _shift,
    "compare/ablation": _ablation,
}
_READ_WITH_THEM = ("compare/dimensions", "compare/group_traits", "compare/shift_neurons")
