from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa

from ops.explain.kinds import KINDS
from ops.explain.pool import SCHEMA, count_listed, united

PATTERNS = pa.schema(
    [
        ("layer", pa.int16()),
        ("unit", pa.int32()),
        ("pole", pa.dictionary(pa.int8(), pa.string())),
        ("kind", pa.string()),
        ("pattern", pa.string()),
        ("items", pa.list_(pa.string())),
    ]
)
PROFILES = pa.schema([*list(PATTERNS)[:3], ("property", pa.string()), ("value", pa.string())])
Row = dict[str, Any]


def draw(seed: int, n: int = 300) -> tuple[list[Row], list[Row]]:
    """Rows of patterns/ and profiles/: each neuron-pole lists a pattern once, but in several spellings."""
    rng = np.random.default_rng(seed)
    words, tags = ["The", "the", "THE", "cat", "\u0130t"], ["NN", "nn", "VB"]
    patterns: dict[tuple[Any, ...], Row] = {}
    profiles: dict[tuple[Any, ...], Row] = {}
    for _ in range(n):
        owner = {
            "layer": int(rng.integers(1, 3)),
            "unit": int(rng.integers(0, 3)),
            "pole": str(rng.choice(["top", "bottom"])),
        }
        kind = str(rng.choice(["word", "tag", "subtree"]))
        items = [str(w) for w in rng.choice(words if kind == "word" else tags, rng.integers(1, 3))]
        text = " ".join(items) if kind != "subtree" else f"({items[0]} {' '.join(f'({t})' for t in items[1:])})"
        patterns[(*owner.values(), kind, text)] = owner | {"kind": kind, "pattern": text, "items": items}
        name, value = str(rng.choice(["punctuation", "tag"])), str(rng.choice(["?", "NN", "XX", "xx"]))
        profiles[(*owner.values(), name, value)] = owner | {"property": name, "value": value}
    return list(patterns.values()), list(profiles.values())


def count(patterns: list[Row], profiles: list[Row]) -> pa.Table:
    return count_listed(
        pa.Table.from_pylist(patterns, schema=PATTERNS), pa.Table.from_pylist(profiles, schema=PROFILES)
    )


def recount(patterns: list[Row], profiles: list[Row]) -> dict[tuple[str, str], tuple[int, list[str]]]:
    owners, items = defaultdict(set), {}
    marks = [r | {"kind": "mark", "pattern": r["value"], "items": [r["value"]]} for r in profiles]
    for row in patterns + [m for m in marks if m["property"] == "punctuation"]:
        fold = row["kind"] in ("word", "mark")
        key = row["kind"], row["pattern"].lower() if fold else row["pattern"]
        owners[key].add((row["layer"], row["unit"], row["pole"]))
        items[key] = [i.lower() for i in row["items"]] if fold else row["items"]
    return {key: (len(own), items[key]) for key, own in owners.items()}


def as_dict(table: pa.Table) -> dict[tuple[str, str], tuple[int, list[str]]]:
    return {(r["kind"], r["pattern"]): (r["listed"], r["items"]) for r in table.to_pylist()}


def test_every_pattern_and_mark_is_counted_once_for_each_neuron_pole() -> None:
    for seed in range(3):
        patterns, profiles = draw(seed)
        found = count(patterns, profiles)
        assert found.schema == SCHEMA
        assert as_dict(found) == recount(patterns, profiles)


def test_nothing_listed_gives_an_empty_pool() -> None:
    assert count([], []).num_rows == 0
    assert united([]).num_rows == united([count([], [])]).num_rows == 0


def test_slices_of_larger_tables_are_counted_by_themselves() -> None:
    patterns, profiles = draw(1)
    tables = pa.Table.from_pylist(patterns, schema=PATTERNS), pa.Table.from_pylist(profiles, schema=PROFILES)
    found = count_listed(tables[0].slice(100, 50), tables[1].slice(7, 5))
    assert as_dict(found) == recount(patterns[100:150], profiles[7:12])


def test_the_pool_has_what_most_list_and_every_mark() -> None:
    patterns, profiles = draw(2, 600)
    one, two = ([r for r in patterns if (r["layer"] == 1) is first] for first in (True, False))
    marks = [[r for r in profiles if (r["layer"] == 1) is first] for first in (True, False)]
    parts = [count(one, marks[0]), count(two, marks[1])]
    every = recount(patterns, profiles)
    assert as_dict(united(parts)) == every

    def by_rank(key: tuple[str, str]) -> tuple[int, int, str]:
        return -every[key][0], KINDS.index(key[0]), key[1]

    for most in (0, 1, 7, 12):
        kept = sorted((key for key in every if key[0] != "mark"), key=by_rank)[:most]
        found = united(parts, most)
        assert set(as_dict(found)) == {*kept, *(key for key in every if key[0] == "mark")}
        order = [(KINDS.index(r["kind"]), -r["listed"], r["pattern"]) for r in found.to_pylist()]
        assert order == sorted(order)
    assert united(parts, 12).equals(united(parts[::-1], 12))
