"""Which neurons a run explains best, with one line for each, and which pole of a neuron is better explained."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow.compute as pc

from ops.facts.text import number, shorten
from ops.storage.store import Store
from ops.storage.tables import read_rows, read_table
from ops.topk.silent import COLUMNS, silent_neurons
from ops.topk.unit_names import NEURONS, UnitNames

Row = dict[str, Any]

CONTROLS = ("nuisance_f1", "matched_f1", "random_f1")
_KEY = ("layer", "unit", "pole")
_CRITERION = re.compile(r"Sentences (.*?): [\d.]+ % of its winners.*", re.DOTALL)
_READ = [*_KEY, "text", "verdict", "family", "f1", "f1_low", "f1_high", *CONTROLS]


def beyond_controls(row: Row) -> float:
    """Return how far an explanation's F1 is above its best control, or minus infinity without an F1.

    Args:
        row: a row of `explanations/`.
    """
    if row["f1"] is None:
        return float("-inf")
    return float(row["f1"] - max((row[name] for name in CONTROLS if row[name] is not None), default=0.0))


def margin(score: Row) -> float | None:
    """Return how far a held-out score exceeds its matched set's, also for runs without the column `auc_excess`."""
    own, matched = score["auc"], score["matched_auc"]
    known: float | None = score.get("auc_excess")
    if "auc_excess" in score or own is None or matched is None:
        return known
    return float(own - matched)


def better_pole(poles: Sequence[str], explanations: Sequence[Row], scores: Sequence[Row]) -> str:
    """Return the better explained pole of a neuron: an explained pole first, then by F1, excess and score.

    Args:
        poles: the poles that the run kept, at least one.
        explanations, scores: the neuron's rows of these tables, empty if the run has none.
    """
    told, scored = ({row["pole"]: row for row in rows} for rows in (explanations, scores))

    def worth(pole: str) -> tuple[Any, ...]:
        own, score = told.get(pole, {}), scored.get(pole)
        above, area = (margin(score), score["auc"] or 0.0) if score else (None, 0.0)
        above = float("-inf") if above is None else above
        return own.get("verdict") == "explained", own.get("f1") or 0.0, above, area, pole == "top"

    return max(poles, key=worth)


def read_best(store: Store, has_explanations: bool, has_scores: bool) -> list[Row]:
    """Return the neurons that a run explains best, best first.

    Args:
        store: the run's folder.
        has_explanations: `explain` has run.
        has_scores: `mine` wrote scores/.

    Returns:
        The leader of each explained family, those furthest beyond their controls first: `layer`, `unit`, `pole`,
        `text`, `f1`, `beyond` (see `beyond_controls`) and `members`, the number of neurons and poles in the family.

        If none is explained, the neurons and poles whose held-out score exceeds their matched set's, with `auc` and
        `auc_excess`. Without either the list is empty. Silent neurons are excluded.
    """
    silent = silent_neurons(read_table(store, "neurons", columns=COLUMNS))
    found = _leaders(store) if has_explanations else []
    if not found and has_scores:
        scores = [row | {"auc_excess": margin(row) or 0.0} for row in read_table(store, "scores").to_pylist()]
        found = [{name: row[name] for name in (*_KEY, "auc", "auc_excess")} for row in scores if row["auc_excess"] > 0]
        found.sort(key=lambda row: (-row["auc_excess"], *(row[name] for name in _KEY)))
    return [row for row in found if (row["layer"], row["unit"]) not in silent]


def _leaders(store: Store) -> list[Row]:
    explained = read_rows(store, "explanations", pc.field("verdict") == "explained", _READ)
    found = leaders(explained, read_table(store, "families").to_pylist())
    return [
        {name: row[name] for name in (*_KEY, "text", "f1")}
        | {"beyond": beyond_controls(row), "members": row["members"]}
        for row in found
    ]


def leaders(explained: list[Row], families: list[Row]) -> list[Row]:
    """Return the leader of each explained family, those furthest beyond their controls first.

    Args:
        explained: the rows of `explanations/` with this verdict.
        families: the rows of `families/`.

    Returns:
        The leaders' rows, each with `members`, the number of neurons and poles in its family.
    """
    size = Counter(member["family"] for member in families)
    led = {tuple(m[name] for name in _KEY): size[m["family"]] for m in families if m["is_leader"]}
    rows = [row | {"members": led.get(tuple(row[name] for name in _KEY))} for row in explained]
    own = [row for row in rows if row["members"]]
    return sorted(own, key=lambda row: (-beyond_controls(row), *(row[name] for name in _KEY)))


def with_words(store: Store, rows: list[Row]) -> list[Row]:
    """Return the rows, each with a `text`: rows without one get the strongest word patterns of their winners."""
    found = []
    for row in rows:
        if "text" in row:
            found.append(row)
            continue
        own = [pc.field(name) == row[name] for name in _KEY]
        here = own[0] & own[1] & own[2] & (pc.field("kind") == "word") & (pc.field("rank") <= 5) & (pc.field("g2") > 0)
        patterns = sorted(read_rows(store, "patterns", here, ["pattern", "rank"]), key=lambda p: p["rank"])
        found.append(row | {"text": ", ".join(p["pattern"] for p in patterns)})
    return found


def lay_out_best(rows: list[Row], total: int, width: int, names: UnitNames = NEURONS) -> str:
    """Return the neurons that a run explains best as text, with one line for each.

    Args:
        rows: some rows of `read_best`, each with a `text`.
        total: the number of rows in all.
        width: characters per line.
        names: what the run's units are called.
    """
    if not rows:
        return f"No {names.one} stands out: none is explained, and no held-out score exceeds its matched set's"
    families = "members" in rows[0]
    above = f"{names.many} whose held-out score exceeds their matched set's"
    what = f"explained families of {names.many}" if families else above
    columns = ("F1", "beyond", "members") if families else ("score", "excess")
    lines = [f"{len(rows):,} of {total:,} {what}, best first"]
    lines.append(
        f"  {names.one:<14}"
        + "".join(f"{name:>9}" for name in columns)
        + f"  {'sentences' if families else 'words of its winners'}"
    )
    room = max(width - 18 - 9 * len(columns), 16)
    for row in rows:
        own = [row["f1"], row["beyond"]] if families else [row["auc"], row["auc_excess"]]
        cells = "".join(number(value, ".3f", 9) for value in own) + (f"{row['members']:>9,}" if families else "")
        lines.append(f"  {name_of(row):<14}{cells}  {shorten(_short(row['text']), room)}")
    return "\n".join(lines)


def _short(text: str) -> str:
    """Return the sentences that an explanation describes, without its numbers."""
    found = _CRITERION.fullmatch(text)
    return found[1] if found else text


def name_of(row: Row) -> str:
    """Return a neuron and pole as people write it.

    >>> name_of({"layer": 3, "unit": 43, "pole": "top"})
    '3:43 top'
    """
    return f"{row['layer']}:{row['unit']} {row['pole']}"
