from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ops.literals.literal import KINDS
from ops.literals.pool import SCHEMA, count_listed, united
from ops.schema import schema

PATTERNS, PROFILES = (
    pa.schema([schema(table).field(name) for name in ("layer", "unit", "pole", *more)])
    for table, more in (("patterns", ("kind", "pattern", "items")), ("profiles", ("property", "value")))
)
Row = dict[str, Any]


def draw(seed: int, n: int = 300) -> tuple[list[Row], list[Row]]:
    """Rows of patterns/ and profiles/: each neuron-pole lists a pattern once, but in several spellings."""
    rng = np.random.default_rng(seed)
    words, tags = ["The", "the", "THE", "cat", "\u0130t"], ["NN", "nn", "VB"]
    patterns: dict[tuple[Any, ...], Row] = {}
    profiles: dict[tuple[Any, ...], Row] = {}
    for _ in range(n):
        owner = {"layer": int(rng.integers(1, 3)), "unit": int(rng.integers(0, 3))}
        owner |= {"pole": str(rng.choice(["top", "bottom"]))}
        kind = str(rng.choice(["word", "tag", "subtree"]))
        items = [str(w) for w in rng.choice(words if kind == "word" else tags, rng.integers(1, 3))]
        text = " ".join(items) if kind != "subtree" else f"({items[0]} {' '.join(f'({t})' for t in items[1:])})"
        patterns[(*owner.values(), kind, text)] = owner | {"kind": kind, "pattern": text, "items": items}
        name, value = str(rng.choice(["punctuation", "tag"])), str(rng.choice(["?", "NN", "XX", "xx"]))
        profiles[(*owner.values(), name, value)] = owner | {"property": name, "value": value}
    return list(patterns.values()), list(profiles.values())


def tables(patterns: list[Row], profiles: list[Row]) -> tuple[pa.Table, pa.Table]:
    return pa.Table.from_pylist(patterns, PATTERNS), pa.Table.from_pylist(profiles, PROFILES)


def count(patterns: list[Row], profiles: list[Row]) -> pa.Table:
    return count_listed(*tables(patterns, profiles))


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
        # A slice of a larger table is counted by itself.
        own, others = tables(patterns, profiles)
        found = count_listed(own.slice(100, 50), others.slice(7, 5))
        assert as_dict(found) == recount(patterns[100:150], profiles[7:12])
    assert count([], []).num_rows == united([]).num_rows == united([count([], [])]).num_rows == 0


def test_the_pool_has_what_most_list_and_every_mark(monkeypatch: pytest.MonkeyPatch) -> None:
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
        monkeypatch.setattr("ops.literals.pool.MOST_PATTERNS", most)
        found = united(parts)
        assert set(as_dict(found)) == {*kept, *(key for key in every if key[0] == "mark")}
        order = [(KINDS.index(r["kind"]), -r["listed"], r["pattern"]) for r in found.to_pylist()]
        assert order == sorted(order)
    assert united(parts).equals(united(parts[::-1]))
