"""What a contrast found, in sentences and lists: the units that separate two groups best, and probes with controls."""

from collections.abc import Sequence

import pyarrow.compute as pc

from ops.facts.listing import Listing
from ops.facts.rows import Row
from ops.facts.text import interval, number
from ops.storage.store import Store
from ops.storage.tables import read_rows, read_table

# What is said of 1 and of 8 units.
SAID = ((1, "one unit", "does", "one rotated axis"), (8, "8 units", "do", "8 rotated axes"))
RANKED = 20  # a unit's page names the contrasts in which it is among the first so many
SURE = 0.05
_CONTROLS = {"units": "of {n:,} units", "rotated": "of rotated axes", "permuted": "with permuted labels"}
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
    about 1 and 8 units of the layer that was chosen on the training documents. The rows are those of contrast/probes.
    """
    sentences = []
    for group in dict.fromkeys(row["group"] for row in rows):
        chosen = _in_chosen_layer(group, rows)
        words = chosen["words", None]["auc"]
        if words is None:
            sentences.append(f"{group}: too few documents for probes.")
            continue
        parts = []
        for k, units, verb, axes in SAID:
            if (row := chosen.get(("units", k))) is None or row["auc"] is None:
                continue
            verdict = f"{units} (AUC {number(row['auc'], '.2f')}) {verb}"
            if (rotated := chosen.get(("rotated", k))) is not None:
                verdict += f" {_how(row, 'over_rotated')} {axes} ({number(rotated['auc'], '.2f')}) and"
            parts.append(f"{verdict} {_how(row, 'over_words')} words ({number(words, '.2f')})")
        sentences.append(f"{group}: {'; '.join(parts)}.")
    return sentences


def _in_chosen_layer(group: str, rows: Sequence[Row]) -> dict[tuple[str, int | None], Row]:
    """Return a contrast's rows for the layer that was chosen on the training documents, by basis and k."""
    return {(row["basis"], row["k"]): row for row in rows if row["group"] == group and row["layer"] is None}


def _how(row: Row, name: str) -> str:
    """Return whether units do better than another basis, worse, or no better."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    how = "better" if low is not None and low > 0 else "worse" if high is not None and high < 0 else "no better"
    return f"{how} than"


def read_contrasts(store: Store, rows: int) -> Row:
    """Return what a contrast found: `sentences`, and `lists` of probes and of the first units of each contrast."""
    probes, controls = (read_table(store, f"contrast/{name}").to_pylist() for name in ("probes", "controls"))
    units = read_rows(store, "contrast/units", pc.field("rank") <= rows)
    lists = []
    for group in dict.fromkeys(row["group"] for row in units):
        if any(row["group"] == group and row["auc"] is not None for row in probes):
            lists.append(_probe_list(group, probes))
        ranked = sorted((row for row in units if row["group"] == group), key=lambda row: row["rank"])
        lists.append(_unit_list(group, ranked, controls))
    return {"sentences": said_of_probes(probes), "lists": lists}


def _unit_list(group: str, rows: Sequence[Row], controls: Sequence[Row]) -> Listing:
    first, counts = rows[0], []
    for control, form in _CONTROLS.items():
        keys = (group, control, "significant")
        measured = [row for row in controls if (row["group"], row["control"], row["measure"]) == keys and row["n"]]
        if measured:
            count = sum(round(row["n"] * row["mean"]) for row in measured)
            counts.append(f"{count:,} {form.format(n=sum(row['n'] for row in measured))}")
    about = (
        f"{group}: {first['n_a']:,} sentences of {first['documents_a']:,} documents against {first['n_b']:,} of "
        f"{first['documents_b']:,}; q < {SURE} for {', '.join(counts)}"
    )
    return Listing.of(about, _UNITS if first["g2"] is None else _FEATURES, rows)


def _probe_list(group: str, probes: Sequence[Row]) -> Listing:
    """Return the list of a contrast's probes in the layer that was chosen on the training documents."""
    chosen = _in_chosen_layer(group, probes)
    rows = []
    for (basis, k), row in chosen.items():
        if basis == "units":
            line = {"k": str(k), "words": chosen["words", None]["auc"], "auc": row["auc"]}
            for other in ("rotated", "layer", "random"):
                probe = chosen.get((other, k))
                line[other] = number(probe["auc"] if probe else None, ".3f")
            for other in ("rotated", "words"):
                value, low, high = (row[f"over_{other}{end}"] for end in ("", "_low", "_high"))
                line[f"said_{other}"] = number(value, "+.3f") + interval(low, high, "+.3f")
            rows.append(line)
    about = f"{group}: held-out AUC of the k best units, in the layer chosen on training documents"
    return Listing.of(about, _PROBES, rows)


def said_of_unit(rows: Sequence[Row]) -> list[str]:
    """Return what a unit separates, from its rows of contrast/units: its contrasts of a high rank and low q value."""
    sure = [row for row in rows if row["rank"] <= RANKED and row["q_value"] is not None and row["q_value"] < SURE]
    phrases = []
    for row in sorted(sure, key=lambda row: (row["rank"], row["group"])):
        area = row["auc"] if row["matched_auc"] is None else row["matched_auc"]
        side = "higher" if area >= 0.5 else "lower"
        measure = "AUC" if row["matched_auc"] is None else "matched AUC"
        phrases.append(f"{side} in {row['group']} (rank {row['rank']}, {measure} {number(area, '.2f')})")
    return phrases
