"""The content of the overview: a value for every neuron, by layer and unit, and the most interesting neurons."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ops.facts.rows import Row
from ops.facts.text import plain

# For each property of the map, its title, and for numbers the table, column and decimal places.
NUMBERS = {
    "auc": ("held-out score", "scores", "auc", 3),
    "margin": ("held-out score above the matched set's", "scores", "auc_excess", 3),
    "words": ("words a sentence", "means", "mean", 1),
    "skew": ("skewness of the activations", "neurons", "skew", 2),
    "ported": ("data sets in which it holds", "audit", "ported", 0),
}
NAMES = {
    "dataset": "strongest data set",
    "tag": "strongest tag",
    "word": "word at the peak",
    "audit": "verdict across data sets",
}
MOST_NAMES = 8  # number of names that have their own colour; all other names share one colour


def map_data(tables: dict[str, pa.Table], widths: tuple[int, ...], poles: Sequence[str], layer: int = 1) -> Row:
    """Return the data that the map draws, as JSON.

    Args:
        tables: the rows, without silent neurons, of `neurons`, `scores`, `means` (words per sentence), `profiles`
            (strongest values of data set and tag), `peaks` (strongest words) and `audit` (the rows of audit/neurons/).
            `scores`, `peaks` and `audit` may be empty.
        widths, poles, layer: the number of units of each layer, the poles of the run, and the first layer.

    Returns:
        `widths`, `poles`, and `properties`. Each property has a `title`, and `values` for each pole: one value for
        each neuron in order, or null. If the values are names, the property also has `names`, and the values are
        indices of these names.
    """
    first = [sum(widths[:i]) for i in range(len(widths))]
    rows = {name: table.to_pylist() for name, table in tables.items()}

    def spread(neurons: list[Row], values: list[Any]) -> dict[str, list[Any]]:
        by_pole: dict[str, list[Any]] = {pole: [None] * sum(widths) for pole in poles}
        for row, value in zip(neurons, values, strict=True):
            for pole in [row["pole"]] if "pole" in row else poles:
                if pole in by_pole:
                    by_pole[pole][first[row["layer"] - layer] + row["unit"]] = value
        return by_pole

    properties: dict[str, Row] = {}
    for name, (title, table, column, digits) in NUMBERS.items():
        numbers = [None if row[column] is None else round(row[column], digits) for row in rows[table]]
        properties[name] = {"title": title, "values": spread(rows[table], numbers)}
    named = {name: [row for row in rows["profiles"] if row["property"] == name] for name in ("dataset", "tag")}
    named["word"] = rows["peaks"]
    named["audit"] = [row | {"value": plain(row["verdict"])} for row in rows["audit"]]
    for name, named_rows in named.items():
        counts = Counter(row["value"] for row in named_rows)
        names = sorted(counts, key=lambda value: (-counts[value], value))
        codes = {value: code for code, value in enumerate(names)}
        values = spread(named_rows, [codes[row["value"]] for row in named_rows])
        properties[name] = {"title": NAMES[name], "names": names, "values": values}
    kept = {n: p for n, p in properties.items() if any(v is not None for cells in p["values"].values() for v in cells)}
    return {"widths": list(widths), "poles": list(poles), "properties": kept, "colours": MOST_NAMES, "layer": layer}
