"""The content of the overview: a value for every neuron, by layer and unit, and the most interesting neurons."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

Row = dict[str, Any]
NUMBERS = {
    "auc": "held-out score",
    "margin": "held-out score above the matched set's",
    "words": "words a sentence",
    "skew": "skewness of the activations",
    "ported": "data sets in which it holds",
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
        widths: number of units of each layer.
        poles: the poles of the run.
        layer: the first layer, which has `widths[0]` units.

    Returns:
        `widths`, `poles`, and `properties`. Each property has a `title`, and `values` for each pole: one value for
        each neuron in order, or null. If the values are names, the property also has `names`, and the values are
        indices of these names.
    """
    first = [sum(widths[:i]) for i in range(len(widths))]

    def spread(rows: list[Row], column: str, digits: int = 3) -> dict[str, list[float | None]]:
        found: dict[str, list[float | None]] = {pole: [None] * sum(widths) for pole in poles}
        for row in rows:
            value = row[column]
            for pole in [row["pole"]] if "pole" in row else poles:
                if pole in found and value is not None:
                    place = first[row["layer"] - layer] + row["unit"]
                    found[pole][place] = round(value, digits) if isinstance(value, float) else value
        return found

    scores = tables["scores"].to_pylist()
    audited = tables["audit"].to_pylist()
    numbers = {
        "auc": spread(scores, "auc"),
        "margin": spread(scores, "auc_excess"),
        "words": spread([r | {"words": r["mean"]} for r in tables["means"].to_pylist()], "words", 1),
        "skew": spread(tables["neurons"].to_pylist(), "skew", 2),
        "ported": spread(audited, "ported"),
    }
    properties: dict[str, Row] = {n: {"title": NUMBERS[n], "values": v} for n, v in numbers.items()}
    profiles = tables["profiles"].to_pylist()
    own = {name: [r for r in profiles if r["property"] == name] for name in ("dataset", "tag")}
    own["word"] = tables["peaks"].to_pylist()
    own["audit"] = [r | {"value": r["verdict"].replace("_", " ")} for r in audited]
    for name, rows in own.items():
        names = sorted({r["value"] for r in rows})
        counts = dict.fromkeys(names, 0)
        for r in rows:
            counts[r["value"]] += 1
        names.sort(key=lambda n: (-counts[n], n))
        place = {n: i for i, n in enumerate(names)}
        coded = [{**r, "code": place[r["value"]]} for r in rows]
        properties[name] = {"title": NAMES[name], "names": names, "values": spread(coded, "code")}
    kept = {n: p for n, p in properties.items() if any(v is not None for own in p["values"].values() for v in own)}
    return {"widths": list(widths), "poles": list(poles), "properties": kept, "colours": MOST_NAMES, "layer": layer}


def without_folders(source: str) -> str:
    """Return a source's name for a page, without the folders of the machine that read it.

    >>> without_folders("pydocs"), without_folders("hf:org/name:en"), without_folders("reviews=/home/me/r.csv")
    ('pydocs', 'hf:org/name:en', 'reviews=r.csv')
    >>> without_folders("/home/me/a/*.txt"), without_folders("../texts/a.jsonl"), without_folders("s3://bucket/a.csv")
    ('*.txt', 'a.jsonl', 's3://bucket/a.csv')
    """
    name, equals, path = source.rpartition("=")
    is_local = path.startswith(("/", "~", "."))
    return f"{name}{equals}{path.rstrip('/').rpartition('/')[2]}" if is_local else source
