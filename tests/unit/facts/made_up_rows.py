"""Made-up rows of the tables that facts are read from, stores of them, and facts."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ops.facts.neuron_facts import NeuronFacts
from ops.facts.run_facts import RunFacts
from ops.schema import schema
from ops.statistics.association import measures
from ops.storage.open_tables import OpenTables
from ops.storage.store import Store
from ops.topk.neurons import Neurons
from ops.topk.unit_names import NEURONS

Row = dict[str, Any]
WINNERS, OTHERS = 100, 1_000


def write_tables(folder: Path, tables: dict[str, list[Row]]) -> Store:
    """Write rows as the tables of a run, without the columns that may not be null and that no row has."""
    for name, rows in tables.items():
        known = set().union(*rows) if rows else {field.name for field in schema(name)}
        kept = pa.schema([field for field in schema(name) if field.nullable or field.name in known])
        (folder / name).mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows, kept), folder / name / "part-00000.parquet")
    return Store(str(folder))


def run_facts(store: Store | None = None, **more: Any) -> RunFacts:
    """Return what is known about a run of two layers of three neurons whose tables are in a store."""
    tables = OpenTables(store or Store("/"))
    root = Path(store.root) if store else Path("/none")
    names = {path.parent.relative_to(root).as_posix() for path in root.rglob("*.parquet")}
    values = {"tables": tables, "table_names": frozenset(names), "stages": {}, "options": {}, "names": NEURONS}
    values |= {"units": Neurons((3, 3)), "poles": ("top", "bottom"), "winners": WINNERS, "most_wins": 1e9}
    values |= {"first_counts": True}
    facts = object.__new__(RunFacts)
    vars(facts).update({**values, "silent": set(), **more})
    return facts


def neuron_facts(**more: Any) -> NeuronFacts:
    """Return the facts of neuron 3:17 at its top pole, of which nothing is known but what is given."""
    lists = (
        "means",
        "winners",
        "hard_negatives",
        "peaks",
        "findings",
        "shared_words",
        "avoids",
        "nearest",
        "contrasts",
    )
    values: Row = {name: [] for name in (*lists, "patterns", "profiles")}
    values |= dict.fromkeys(("dictionary", "explanation", "audit", "other_pole", "score", "dataset", "outputs"))
    values |= {"layer": 3, "unit": 17, "pole": "top", "n_winners": WINNERS, "called": "neuron", "neuron": {}}
    values |= {"is_silent": False, "is_mined": True, "options": {}}
    return NeuronFacts(**values | more)


def explained(unit: int, pole: str, *f1: float | None, **more: Any) -> Row:
    """Return a row of explanations/ for layer 1, with F1 of the card and of its three controls."""
    text = f"Rule: sentences with *w{unit}* and of at most 9 words: 64 % of its winners (held-out F1 0.30)."
    row = {"layer": 1, "unit": unit, "pole": pole, "family": 0, "verdict": "rule", "text": text, "literals": 1}
    row |= {"n": 18, "f1_low": None, "f1_high": None, "single_f1": None, "folds": 10}
    margin = None if f1[0] is None else f1[0] - max(0.0 if control is None else control for control in f1[1:])
    row |= {"margin": margin, "margin_low": margin, "margin_high": margin}
    return row | dict(zip(("f1", "nuisance_f1", "matched_f1", "chance_f1"), f1, strict=True)) | more


def term(model: str, pole: str | None, pattern: str, **more: Any) -> Row:
    """Return a row of explanation_terms/ for unit 5 of layer 1."""
    row: Row = {"layer": 1, "unit": 5, "model": model, "pole": pole, "rank": 1, "kind": "word", "pattern": pattern}
    row |= {"items": [pattern], "negated": False, "weight": 2.0, "share": 0.64, "baseline_share": 0.03, "gain": 0.25}
    return row | {"also": [], "sent_ids": [3]} | more


def member(unit: int, pole: str, family: int, is_leader: bool = False, correlation: float = 1.0) -> Row:
    """Return a row of families/ for layer 1."""
    row = {"layer": 1, "unit": unit, "pole": pole, "family": family}
    return row | {"correlation": correlation, "is_leader": is_leader}


def measured(count: int, elsewhere: int) -> Row:
    """Return the measures of what so many of the winners have, and so many of the others."""
    found = measures(count, WINNERS, elsewhere, OTHERS)
    names = ("share", "baseline_share", "lift", "lift_low", "g2")
    return {"q_value": 1e-6, "docs": count} | {name: float(getattr(found, name)[0]) for name in names}


def pattern(kind: str, text: str, count: int = 20, elsewhere: int = 10, **more: Any) -> Row:
    """Return a row of patterns/."""
    items = text.replace("(", " ").replace(")", " ").split()
    return {**measured(count, elsewhere), "kind": kind, "pattern": text, "items": items, "support": count, **more}


def value(name: str, text: str, count: int = 30, elsewhere: int = 10, **more: Any) -> Row:
    """Return a row of profiles/."""
    row = {k: v for k, v in measured(count, elsewhere).items() if k != "lift_low"}
    row |= {"property": name, "value": text, "count": count, "n": WINNERS, "baseline_n": OTHERS}
    return row | more
