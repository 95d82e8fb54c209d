"""The neurons that a run explains best, as distinct findings, and how many there are, next to their control."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_array

from ops.arrays import Bools, Float64s, Int64s
from ops.facts.rows import POLE, Row, Rows, grouped, key_of
from ops.facts.run_facts import RunFacts
from ops.facts.text import enumerated, short_percent
from ops.schema import schema
from ops.schema.verdicts import RULE, TENDENCY
from ops.topk.silent import heard

SIMILAR, LEAST_SHARED = 0.5, 2  # Jaccard similarity of two that are one finding; typical patterns that they share
COMPARED = 1_000  # the first winners of each are compared
NAMED = 2  # number of other neurons that are named
_BLOCK = 256  # number of leaders that are compared with all others at once
_FOUND = "found"  # the measure of explain/controls that says whether axes have a rule


def best_findings(run: RunFacts) -> Rows:
    """Return the rules of a run as distinct findings, those surely furthest beyond their controls first.

    The leaders of families (`RunFacts.rules`) are visited in their order. One whose winners, or whose typical patterns
    (at least two of them), have a Jaccard similarity of 0.5 or more with the first leader of an earlier finding belongs
    to that finding. At most 1,000 winners of each are compared.

    Returns:
        The row of each finding's first leader, with `members`, the number of neurons and poles of all its families, and
        `also`, the others: `layer`, `unit` and `pole`, leaders first, then by correlation.
    """
    leaders = run.rules
    if not leaders:
        return []
    similar = [(_winners(run, leaders), 1), (_typical(run, leaders), LEAST_SHARED)]
    finding = _findings(similar, len(leaders))
    families = grouped(run.read("families").to_pylist(), ("family",))
    members: dict[int, Rows] = {}
    for row, first in zip(leaders, finding.tolist(), strict=True):
        members.setdefault(first, []).append(row)
    return [leaders[first] | _members(rows, families) for first, rows in members.items()]


def said_also(row: Row) -> str:
    """Name the other neurons of a finding; empty if there are none.

    >>> others = [{"layer": 2, "unit": unit, "pole": "top"} for unit in (177, 9, 4, 5)]
    >>> said_also({"also": others})
    '2:177, 2:9 and 2 others'
    """
    names = list(dict.fromkeys(f"{other['layer']}:{other['unit']}" for other in row["also"]))
    if len(names) > NAMED:
        rest = len(names) - NAMED
        names = [*names[:NAMED], f"{rest:,} other{'s' * (rest > 1)}"]
    return enumerated(names, "and") if names else ""


def said_in_brief(run: RunFacts) -> str:
    """Say how many neurons and poles have a rule or a tendency, and how often axes of a random rotation have a rule.

    Empty if the run has no explanations.
    """
    verdicts = heard(run.read("explanations", None, [*POLE, "verdict"]), run.silent)
    if not verdicts.num_rows:
        return ""
    rules, tendencies = (pc.sum(pc.equal(verdicts["verdict"], name)).as_py() or 0 for name in (RULE, TENDENCY))
    many = run.names.many
    said = f"{rules:,} of {verdicts.num_rows:,} {many} and poles have a rule, and {tendencies:,} a tendency"
    is_found = (pc.field("model") == "winners") & (pc.field("measure") == _FOUND)
    shares = {}
    for basis in ("neurons", "rotated"):
        rows = run.read("explain/controls", is_found & (pc.field("basis") == basis)).to_pylist()
        n = sum(row["n"] for row in rows)
        if n:
            shares[basis] = sum(row["n"] * row["mean"] for row in rows) / n, n
    if len(shares) < 2:
        return f"{said}."
    (own, n), (rotated, axes) = shares["neurons"], shares["rotated"]
    return (
        f"{said}; asked alike (winners: the top 1 % of a sample), {short_percent(own)} of {many} and "
        f"{short_percent(rotated)} of randomly rotated axes have a rule{_compared(own, n, rotated, axes, many)}."
    )


def _compared(own: float, n: int, rotated: float, axes: int, many: str) -> str:
    """Return what follows from the two shares."""
    if own <= rotated:
        return f", so {many} do no better than random directions"
    error = math.sqrt(own * (1 - own) / n + rotated * (1 - rotated) / axes)
    return "" if own - rotated > 1.96 * error else ", a difference that chance can explain"


def _alike(sets: csr_array, least: int, first: int, stop: int) -> Bools:
    """Return which leaders each leader of a block is similar to, `[block, leaders]`.

    `sets` says whether each leader's set of winners, or of typical patterns, has an element, `[leaders, elements]`.
    Similar sets share at least `least` elements.
    """
    size = np.asarray(sets.sum(axis=1), np.float64)
    shared: Float64s = (sets[first:stop] @ sets.T).toarray()
    either = size[first:stop, None] + size - shared
    return np.asarray((shared >= least) & (shared >= SIMILAR * either))


def _findings(similar: Sequence[tuple[csr_array, int]], leaders: int) -> Int64s:
    """Return the index of the first leader of each leader's finding, `[leaders]`."""
    finding = np.arange(leaders)
    is_first = np.zeros(leaders, bool)
    for start in range(0, leaders, _BLOCK):
        alike = np.logical_or.reduce([_alike(*sets, start, min(start + _BLOCK, leaders)) for sets in similar])
        for place, row in enumerate(alike, start):
            known = np.flatnonzero(row & is_first)
            finding[place] = known[0] if len(known) else place
            is_first[place] = not len(known)
    return finding


def _winners(run: RunFacts, leaders: Rows) -> csr_array:
    """Return which sentences are among the first winners of each leader, `[leaders, sentences]`."""
    columns = pa.schema([schema("topk").field(name) for name in POLE])
    numbered = pa.Table.from_pylist(leaders, columns).append_column("leader", pa.array(range(len(leaders))))
    won = []
    for (layer,), own in grouped(leaders, ("layer",)).items():
        units = pc.field("unit").isin(sorted({row["unit"] for row in own}))
        here = (pc.field("layer") == layer) & units & (pc.field("rank") <= COMPARED)
        rows = run.read("topk", here, [*POLE, "sent_id"])
        won.append(rows.join(numbered, list(POLE), join_type="inner").select(["leader", "sent_id"]))
    leader, sentence = (column.to_numpy() for column in pa.concat_tables(won).columns)
    ids, column = np.unique(sentence, return_inverse=True)
    return _sets(leader, column, (len(leaders), len(ids)))


def _typical(run: RunFacts, leaders: Rows) -> csr_array:
    """Return which patterns are typical of each leader, `[leaders, patterns]`; none in runs without them."""
    row, column, number = [], [], dict[tuple[str, str], int]()
    if "typical" in run.tables.dataset("explanations").schema.names:
        place = {key_of(leader): i for i, leader in enumerate(leaders)}
        for explained in run.read("explanations", pc.field("verdict") == RULE, [*POLE, "typical"]).to_pylist():
            for entry in explained["typical"] or ():
                if key_of(explained) in place:
                    row.append(place[key_of(explained)])
                    column.append(number.setdefault((entry["kind"], entry["pattern"]), len(number)))
    return _sets(np.array(row, np.int64), np.array(column, np.int64), (len(leaders), max(len(number), 1)))


def _sets(row: Int64s, column: Int64s, shape: tuple[int, int]) -> csr_array:
    return csr_array((np.ones(len(row)), (row, column)), shape)


def _members(leaders: Rows, families: dict[Any, Rows]) -> Row:
    """Return `also` and `members` of the finding of these leaders, the first one its own."""
    others = leaders[1:]
    known = {key_of(row) for row in leaders}
    rest = [member for row in leaders for member in families[(row["family"],)] if key_of(member) not in known]
    rest.sort(key=lambda member: (-abs(member["correlation"]), *key_of(member)))
    also = [{name: row[name] for name in POLE} for row in (*others, *rest)]
    return {"also": also, "members": 1 + len(also)}
