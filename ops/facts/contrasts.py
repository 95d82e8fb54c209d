"""What a contrast found, in sentences and lists: the units that separate two groups best, and probes with controls."""

from collections.abc import Sequence
from typing import Any

import pyarrow.compute as pc

from ops.facts.listing import Listing
from ops.facts.text import interval, number
from ops.storage.store import Store
from ops.storage.tables import read_rows, read_table

Row = dict[str, Any]

SAID_KS = (1, 8)
RANKED = 20  # a unit's page names the contrasts in which it is among the first so many
SURE = 0.05
_UNITS: list[tuple[str, str]] = [
    ("unit", "{layer}:{unit}"), ("AUC", "{auc:.3f}"), ("matched", "{matched_auc:.3f}"),
    ("95 %", "{matched_auc_low:.3f} to {matched_auc_high:.3f}"), ("difference", "{difference:+.2f}"),
    ("q", "{q_value:q}"), ("family p", "{p_family:.3f}"),
]  # fmt: skip
_FEATURES: list[tuple[str, str]] = [
    ("feature", "{layer}:{unit}"), ("active in a", "{active_a:.2g %}"), ("in b", "{active_b:.2g %}"),
    ("lift", "{lift:lift}"), ("G2", "{g2:.1f}"), ("q", "{q_value:q}"), ("AUC", "{auc:.3f}"),
]  # fmt: skip
_PROBES: list[tuple[str, str]] = [
    ("k", "{k}"), ("units", "{auc:.3f}"), ("rotated axes", "{rotated}"), ("over rotated axes", "{said_rotated}"),
    ("words", "{words:.3f}"), ("over words", "{said_words}"), ("layer", "{layer}"), ("random weights", "{random}"),
]  # fmt: skip


def said_of_probes(rows: Sequence[Row]) -> list[str]:
    """Return for each contrast one sentence that says whether units do better than rotated axes and than words.

    "Better" means that the interval of the paired difference is above 0, "worse" that it is below 0. The sentence is
    about 1 and 8 units of the layer that was chosen on the training documents.

    Args:
        rows: the rows of contrast/probes.
    """
    said = []
    for group in dict.fromkeys(row["group"] for row in rows):
        chosen = {row["k"]: row for row in rows if _is(row, group, "units", None)}
        rotated = {row["k"]: row for row in rows if _is(row, group, "rotated", None)}
        words = next(row for row in rows if _is(row, group, "words", None))
        if words["auc"] is None:
            said.append(f"{group}: too few documents for probes.")
            continue
        parts = []
        for k in SAID_KS:
            if (row := chosen.get(k)) is None or row["auc"] is None:
                continue
            units = "one unit" if k == 1 else f"{k} units"
            verdict, verb = f"{units} (AUC {number(row['auc'], '.2f')})", "does" if k == 1 else "do"
            if k in rotated:
                axes = "one rotated axis" if k == 1 else f"{k} rotated axes"
                verdict += f" {verb} {_how(row, 'over_rotated')} {axes} ({number(rotated[k]['auc'], '.2f')}) and"
            else:
                verdict += f" {verb}"
            parts.append(f"{verdict} {_how(row, 'over_words')} words ({number(words['auc'], '.2f')})")
        said.append(f"{group}: {'; '.join(parts)}.")
    return said


def _is(row: Row, group: str, basis: str, layer: int | None) -> bool:
    return (row["group"], row["basis"], row["layer"]) == (group, basis, layer)


def _how(row: Row, name: str) -> str:
    """Return whether units do better than another basis, worse, or no better."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    how = "better" if low is not None and low > 0 else "worse" if high is not None and high < 0 else "no better"
    return f"{how} than"


def read_contrasts(store: Store, rows: int) -> Row:
    """Return what a contrast found: `sentences`, and `lists` of probes and of the first units of each contrast.

    Args:
        store: the run's folder.
        rows: the number of units of each list.
    """
    probes = read_table(store, "contrast/probes").to_pylist()
    units = read_rows(store, "contrast/units", pc.field("rank") <= rows)
    significant = {
        (row["group"], row["control"]): row for row in _significant(read_table(store, "contrast/controls").to_pylist())
    }
    lists = []
    for group in dict.fromkeys(row["group"] for row in units):
        if any(row["group"] == group and row["auc"] is not None for row in probes):
            lists.append(_probe_list(group, probes))
        own = sorted((row for row in units if row["group"] == group), key=lambda row: row["rank"])
        lists.append(_unit_list(group, own, significant))
    return {"sentences": said_of_probes(probes), "lists": lists}


def _significant(controls: Sequence[Row]) -> list[Row]:
    """Return the number of significant units over all layers for each contrast and control."""
    found: dict[tuple[str, str], Row] = {}
    for row in controls:
        if row["measure"] == "significant" and row["n"]:
            own = found.setdefault((row["group"], row["control"]), {**row, "n": 0, "count": 0})
            own["n"] += row["n"]
            own["count"] += round(row["n"] * row["mean"])
    return list(found.values())


_CONTROLS = {"units": "of {n:,} units", "rotated": "of rotated axes", "permuted": "with permuted labels"}


def _unit_list(group: str, rows: Sequence[Row], significant: dict[tuple[str, str], Row]) -> Listing:
    first = rows[0]
    counts = []
    for control, form in _CONTROLS.items():
        if (own := significant.get((group, control))) is not None:
            counts.append(f"{own['count']:,} {form.format(**own)}")
    about = (
        f"{group}: {first['n_a']:,} sentences of {first['documents_a']:,} documents against {first['n_b']:,} of "
        f"{first['documents_b']:,}; q < {SURE} for {', '.join(counts)}"
    )
    columns = _UNITS if first["g2"] is None else _FEATURES
    return Listing.of(about, columns, rows)


def _probe_list(group: str, probes: Sequence[Row]) -> Listing:
    """Return the list of a contrast's probes in the layer that was chosen on the training documents."""
    own = [row for row in probes if row["group"] == group]
    by_basis = {(row["basis"], row["k"]): row for row in own if row["layer"] is None}
    rows = []
    for row in own:
        if row["basis"] == "units" and row["layer"] is None:
            found = {"k": str(row["k"]), "words": by_basis["words", None]["auc"], "auc": row["auc"]}
            for basis in ("rotated", "layer", "random"):
                there = by_basis.get((basis, row["k"]))
                found[basis] = number(there["auc"] if there else None, ".3f")
            for basis in ("rotated", "words"):
                value, low, high = (row[f"over_{basis}{end}"] for end in ("", "_low", "_high"))
                found[f"said_{basis}"] = number(value, "+.3f") + interval(low, high, "+.3f")
            rows.append(found)
    return Listing.of(f"{group}: held-out AUC of the k best units, in the layer chosen on training documents", _PROBES,
                      rows)  # fmt: skip


def said_of_unit(rows: Sequence[Row]) -> list[str]:
    """Return what a unit separates, from its rows of contrast/units: its contrasts of a high rank and low q value."""
    sure = [row for row in rows if row["rank"] <= RANKED and row["q_value"] is not None and row["q_value"] < SURE]
    said = []
    for row in sorted(sure, key=lambda row: (row["rank"], row["group"])):
        area = row["auc"] if row["matched_auc"] is None else row["matched_auc"]
        side = "higher" if area >= 0.5 else "lower"
        said.append(f"{side} in {row['group']} (rank {row['rank']}, matched AUC {number(area, '.2f')})")
    return said
