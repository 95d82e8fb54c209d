"""The neurons that a run explains best, as distinct findings, and how many there are, next to their control."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_array

from ops.arrays import Bools, Float64s, Int64s
from ops.facts.evidence import LEFT_OUT, as_text
from ops.facts.rows import POLE, Row, Rows, grouped, key_of
from ops.facts.run_facts import RunFacts
from ops.facts.text import enumerated, short_percent
from ops.schema.verdicts import RULE, TENDENCY
from ops.shards import spans
from ops.topk.silent import heard

SIMILAR = 0.5  # Jaccard similarity of the winners of two that are one finding
COMPARED = 1_000  # the first winners of each are compared
TRIED = 4  # the strongest typical entries of a leader, of which one is its main item
AS_OFTEN = 0.5  # leaders share their main items if each has the other's at least this share as often
NAMED = 2  # number of other neurons that are named
_BLOCK = 256  # number of leaders that are compared with all others at once
_FOUND = "found"  # the measure of explain/controls that says whether axes have a rule

Alike = Callable[[int, int], Bools]  # which leaders are alike with each leader of a block, `[block, leaders]`


def best_findings(run: RunFacts) -> Rows:
    """Return the rules of a run as distinct findings, those surely furthest beyond their controls first.

    The leaders of families (`RunFacts.rules`) are visited in their order. One belongs to an earlier finding if its
    winners and those of the finding's first leader have a Jaccard similarity of 0.5 or more (at most 1,000 winners of
    each are compared), or if each of the two has the other's main item at least half as often as the other has it,
    beyond the corpus. A leader's main item is the strongest of its first typical entries that patterns/ or profiles/
    list for it with a share above the corpus's.

    With lists of typical patterns that have a Jaccard similarity of 0.5 instead of main items, the first ten findings
    of 20,000 sentences of six corpora were ten times a URL, and 682 leaders were 662 findings.

    Returns:
        The row of each finding's first leader, with `members`, the number of neurons and poles of all its families, and
        `also`, the others: `layer`, `unit` and `pole`, leaders first, then by correlation.
    """
    leaders = run.rules
    if not leaders:
        return []
    share_winners, share_items = _share_winners(run, leaders), _share_main_items(run, leaders)
    finding = _findings(lambda *block: share_winners(*block) | share_items(*block), len(leaders))
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
    sentence = f"{rules:,} of {verdicts.num_rows:,} {many} and poles have a rule, and {tendencies:,} a tendency"
    is_found = (pc.field("model") == "winners") & (pc.field("measure") == _FOUND)
    shares = {}
    for basis in ("neurons", "rotated"):
        rows = run.read("explain/controls", is_found & (pc.field("basis") == basis)).to_pylist()
        n = sum(row["n"] for row in rows)
        if n:
            shares[basis] = sum(row["n"] * row["mean"] for row in rows) / n, n
    if len(shares) < 2:
        return f"{sentence}."
    (share, n), (rotated, axes) = shares["neurons"], shares["rotated"]
    return (
        f"{sentence}; asked alike (winners: the top 1 % of a sample), {short_percent(share)} of {many} and "
        f"{short_percent(rotated)} of randomly rotated axes have a rule{_compared(share, n, rotated, axes, many)}."
    )


def _compared(share: float, n: int, rotated: float, axes: int, many: str) -> str:
    """Return what follows from the two shares."""
    if share <= rotated:
        return f", so {many} do no better than random directions"
    error = math.sqrt(share * (1 - share) / n + rotated * (1 - rotated) / axes)
    return "" if share - rotated > 1.96 * error else ", a difference that chance can explain"


def _findings(alike: Alike, leaders: int) -> Int64s:
    """Return the index of the first leader of each leader's finding, `[leaders]`; leaders of a finding are alike."""
    finding = np.arange(leaders)
    is_first = np.zeros(leaders, bool)
    for start, stop in spans(leaders, _BLOCK):
        for leader, row in enumerate(alike(start, stop), start):
            known = np.flatnonzero(row & is_first)
            finding[leader] = known[0] if len(known) else leader
            is_first[leader] = not len(known)
    return finding


def _share_winners(run: RunFacts, leaders: Rows) -> Alike:
    """Return the function that says which leaders have similar winners."""
    rows = run.read_numbered("topk", leaders, pc.field("rank") <= COMPARED, ["sent_id"])
    leader, sentence = (column.to_numpy() for column in rows.columns)
    ids, column = np.unique(sentence, return_inverse=True)
    winners = csr_array((np.ones(len(leader)), (leader, column)), (len(leaders), len(ids)))
    size = np.asarray(winners.sum(axis=1), np.float64)

    def alike(first: int, stop: int) -> Bools:
        shared: Float64s = (winners[first:stop] @ winners.T).toarray()
        either = size[first:stop, None] + size - shared
        return np.asarray((shared >= 1) & (shared >= SIMILAR * either))

    return alike


def _share_main_items(run: RunFacts, leaders: Rows) -> Alike:
    """Return the function that says which leaders share their main items."""
    tried = {}
    for row in run.read("explanations", pc.field("verdict") == RULE, [*POLE, "typical"]).to_pylist():
        entries = [as_text(entry) for entry in (row["typical"] or ())[:TRIED]]
        tried[key_of(row)] = [(entry["kind"], entry["found"].lower()) for entry in entries]
    of_leaders = [tried[key_of(leader)] for leader in leaders]
    number = {item: i for i, item in enumerate(dict.fromkeys(item for items in of_leaders for item in items))}
    excess = _excess(run, leaders, number)
    # A leader without a main item shares none.
    main, least = np.zeros(len(leaders), np.int64), np.full(len(leaders), np.inf)
    for leader, items in enumerate(of_leaders):
        leader_excess = excess[[leader]].toarray()[0]
        known = [number[item] for item in items if leader_excess[number[item]] > 0]
        if known:
            main[leader], least[leader] = known[0], AS_OFTEN * leader_excess[known[0]]

    def alike(first: int, stop: int) -> Bools:
        block = slice(first, stop)
        has, others_have = excess[block].toarray()[:, main], excess[:, main[block]].toarray().T
        return np.asarray((has >= least) & (others_have >= least[block, None]))

    return alike


def _excess(run: RunFacts, leaders: Rows, number: dict[tuple[str, str], int]) -> csr_array:
    """Return by how much the share of each leader's winners with an item exceeds the corpus's, `[leaders, items]`.

    An item is a kind or property, and a text in lower case; `number` has the column of each. Of a word in upper and in
    lower case, the more frequent form counts.
    """
    texts, largest = pa.array([text for _, text in number], pa.string()), dict[tuple[int, int], float]()
    for table, kind, text in (("patterns", "kind", "pattern"), ("profiles", "property", "value")):
        # A profile of tags counts tokens instead of sentences.
        left_out = pa.array(LEFT_OUT if table == "profiles" else (), pa.string())
        is_item = pc.utf8_lower(pc.field(text)).isin(texts) & ~pc.field(kind).isin(left_out)
        rows = run.read_numbered(table, leaders, is_item, [kind, text, "share", "baseline_share"])
        more = pc.subtract(rows["share"], pc.fill_null(rows["baseline_share"], 0.0))
        columns = (column.to_pylist() for column in (rows["number"], rows[kind], rows[text], more))
        for leader, name, written, excess in zip(*columns, strict=True):
            item = number.get((name.replace(" ", "_"), written.lower()))
            if item is not None and excess > largest.get((leader, item), 0.0):
                largest[leader, item] = excess
    places = np.array([*largest], np.int64).reshape(-1, 2).T
    return csr_array((np.array([*largest.values()]), places), (len(leaders), max(len(number), 1)))


def _members(leaders: Rows, families: dict[Any, Rows]) -> Row:
    """Return `also` and `members` of the finding of these leaders, the first one its own."""
    others = leaders[1:]
    known = {key_of(row) for row in leaders}
    rest = [member for row in leaders for member in families[(row["family"],)] if key_of(member) not in known]
    rest.sort(key=lambda member: (-abs(member["correlation"]), *key_of(member)))
    also = [{name: row[name] for name in POLE} for row in (*others, *rest)]
    return {"also": also, "members": 1 + len(also)}
