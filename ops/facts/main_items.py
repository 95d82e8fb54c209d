"""The main item of each neuron that leads a family, and which of them share their main items."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_array

from ops.arrays import Bools, Float64s, Int64s, begins_group
from ops.facts.evidence import LEFT_OUT, as_text
from ops.facts.rows import POLE, Rows, key_of
from ops.facts.run_facts import RunFacts
from ops.schema.verdicts import RULE

TRIED = 4  # the strongest typical entries of a leader, of which one is its main item
AS_OFTEN = 0.5  # leaders share their main items if each has the other's at least this share as often


@dataclass(frozen=True)
class MainItems:
    """The main item of each of some leaders, and how often all of them have it.

    Attributes:
        excess: the share of each leader's winners that have each item, minus the corpus's share, where it is above 0,
            `[leaders, items]`.
        main: the main item of each leader, `[leaders]`.
        least: the excess from which another leader has each leader's main item often enough, `[leaders]`; infinite for
            a leader without a main item.
    """

    excess: csr_array
    main: Int64s
    least: Float64s

    def are_shared(self, first: int, stop: int) -> Bools:
        """Return which leaders share their main items with each leader of a block, `[block, leaders]`."""
        block = slice(first, stop)
        has, others_have = self.excess[block].toarray()[:, self.main], self.excess[:, self.main[block]].toarray().T
        return np.asarray((has >= self.least) & (others_have >= self.least[block, None]))


def find_main_items(run: RunFacts, leaders: Rows) -> MainItems:
    """Return the main items of leaders.

    The main item is the strongest of a leader's first typical entries that patterns/ or profiles/ list for it with a
    share above the corpus's. Words are compared in lower case, and of a group of words the strongest counts.
    """
    place, tried = {key_of(leader): i for i, leader in enumerate(leaders)}, dict[int, list[tuple[str, str]]]()
    if "typical" in run.tables.dataset("explanations").schema.names:
        for row in run.read("explanations", pc.field("verdict") == RULE, [*POLE, "typical"]).to_pylist():
            if key_of(row) in place:
                entries = [as_text(entry) for entry in (row["typical"] or ())[:TRIED]]
                tried[place[key_of(row)]] = [(entry["kind"], entry["found"].lower()) for entry in entries]
    number = {item: i for i, item in enumerate(dict.fromkeys(item for items in tried.values() for item in items))}
    excess = _excess(run, leaders, number)
    main, least = np.zeros(len(leaders), np.int64), np.full(len(leaders), np.inf)
    for leader, items in tried.items():
        own = excess[[leader]].toarray()[0]
        known = [number[item] for item in items if own[number[item]] > 0]
        if known:
            main[leader], least[leader] = known[0], AS_OFTEN * own[known[0]]
    return MainItems(excess, main, least)


def _excess(run: RunFacts, leaders: Rows, number: dict[tuple[str, str], int]) -> csr_array:
    """Return `MainItems.excess`, given the column of each item: its kind or property, and its text in lower case."""
    kinds, texts = (pa.array([item[place] for item in number], pa.string()) for place in range(2))
    items = pa.table({"kind": kinds, "text": texts, "item": pa.array(number.values(), pa.int64())})
    parts = [np.zeros((3, 0))]
    for table, kind, text in (("patterns", "kind", "pattern"), ("profiles", "property", "value")):
        # A profile of tags counts tokens instead of sentences.
        left_out = pa.array(LEFT_OUT if table == "profiles" else (), pa.string())
        is_item = pc.utf8_lower(pc.field(text)).isin(texts) & ~pc.field(kind).isin(left_out)
        rows = run.read_numbered(table, leaders, is_item, [kind, text, "share", "baseline_share"])
        more = pc.subtract(rows["share"], pc.fill_null(rows["baseline_share"], 0.0))
        own = rows.select(["number"]).append_column("kind", pc.replace_substring(rows[kind], " ", "_"))
        own = own.append_column("text", pc.utf8_lower(rows[text])).append_column("more", more)
        own = own.filter(pc.greater(more, 0)).join(items, ["kind", "text"], join_type="inner")
        parts.append(np.stack([own[name].to_numpy().astype(np.float64) for name in ("number", "item", "more")]))
    found = np.hstack(parts)
    # Of a word in upper and in lower case, the more frequent form counts.
    found = found[:, np.lexsort((-found[2], found[1], found[0]))]
    found = found[:, begins_group(*found[:2])]
    return csr_array((found[2], found[:2].astype(np.int64)), (len(leaders), max(len(number), 1)))
