"""Search over a run's tables: the kinds of queries, and the SQL that answers them with every value bound."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from threading import Lock, Timer
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from ops.errors import InputError, one_line
from ops.facts.findings import LEAST_COUNT
from ops.report.search_index import VERDICT
from ops.schema import schema

KINDS = {
    "any": "neurons by anything",
    "explanation": "neurons by what explains them",
    "word": "neurons by words in order",
    "tag": "neurons by parts of speech in order",
    "subtree": "neurons by subtree",
    "pattern": "neurons by a whole pattern of any kind",
    "value": "neurons by a value of the metadata",
    "peak": "neurons by the word or tag at which they peak",
    "audit": "neurons by verdict across data sets",
    "score": "neurons by held-out score",
    "text": "winners by text",
}
MOST, MOST_SENTENCES = 100, 1_000
MOST_CHARACTERS = 200
MEMORY = "1GB"

# The order of the search field, in a static site too.
ORDER = "auc_excess desc nulls last, layer, unit, pole"
# One row for each neuron and pole, with its strongest match; rows that most exceed their matched sets come first.
_NEURONS = """
with matched as ({matched}), strongest as (
  select * from matched
  qualify row_number() over (partition by layer, unit, pole order by g2 desc nulls first, kind, found) = 1
)
select strongest.*, auc, auc_excess, count(*) over () as total
from strongest left join scores using (layer, unit, pole)
where {limits} order by {order} limit {most}
"""
_MATCHED = """
  select layer, unit, pole, {kind} as kind, {found} as found, {count} as count, share, baseline_share, lift, g2
  from {table} where g2 > 0 and {count} >= {least_count} and {where}
"""
_SCORES = """
select layer, unit, pole, auc, auc_excess, count(*) over () as total from scores where auc is not null and {limits}
order by {order} limit {most}
"""
# Searches an explanation's text and the items of its literals, because a class has more words than its name.
_NAMED = """
  select distinct layer, unit, pole from explanation_terms
  where model = 'winners' and list_contains(list_transform(items, lambda item: lower(item)), lower($text))
"""
_SAID = "(contains(lower(text), lower($text)) or (layer, unit, pole) in (select (layer, unit, pole) from named))"
_EXPLAINED = f"""
with named as ({_NAMED})
select layer, unit, pole, found, verdict, f1, auc, auc_excess, count(*) over () as total
from (select layer, unit, pole, text as found, verdict, f1 from explanations where {_SAID})
left join scores using (layer, unit, pole)
where {{limits}} order by auc_excess desc nulls last, f1 desc nulls last, layer, unit, pole limit {{most}}
"""
_ANY_EXPLAINED = f"""
  select layer, unit, pole, 'explanation' as kind, text as found, null::bigint as count, null::float as share,
  null::float as baseline_share, null::float as lift, null::float as g2
  from (with named as ({_NAMED}) select * from explanations where {_SAID})
"""
# Searches the verdict of an audit, whose name may be written with a space or an underscore.
_AUDITED = """
select layer, unit, pole, verdict, transfer, ported, datasets, explained.text as found, auc, auc_excess,
  count(*) over () as total
from audited left join (select layer, unit, pole, text from explanations) as explained using (layer, unit, pole)
left join scores using (layer, unit, pole)
where verdict = replace(lower($text), ' ', '_') and {limits}
order by {order} limit {most}
"""
_WINNERS = """
with matched as (
  select sent_id, text, dataset from sentences where is_winner and contains(lower(text), lower($text))
  order by sent_id limit {most_sentences}
)
select topk.layer, topk.unit, topk.pole, rank, activation, text as found, dataset, count(*) over () as total
from topk join matched using (sent_id) left join scores using (layer, unit, pole)
where {limits} order by rank, layer, unit, pole limit {most}
"""
# A pattern's words are separated by spaces, so spaces around both texts make sure that only complete words match.
_WORDS = "contains(' ' || lower(pattern) || ' ', ' ' || lower($text) || ' ')"
_LABELS = "contains(' ' || lower(translate(pattern, '()', '')) || ' ', ' ' || lower($text) || ' ')"


@dataclass(frozen=True)
class _Where:
    """The place that a kind of search reads: the table, its columns of text and of winner counts, and the condition."""

    table: str
    found: str
    count: str
    where: str
    kind: str = "''"

    def matched(self) -> str:
        return _MATCHED.format(**asdict(self), least_count=LEAST_COUNT)


_VALUE = "property || ': ' || value"
_WHERE = {
    "word": _Where("patterns", "pattern", "support", f"kind = 'word' and {_WORDS}"),
    "tag": _Where("patterns", "pattern", "support", f"kind = 'tag' and {_WORDS}"),
    "subtree": _Where("patterns", "pattern", "support", "kind = 'subtree' and contains(lower(pattern), lower($text))"),
    "pattern": _Where("patterns", "pattern", "support", "lower(pattern) = lower($text)"),
    "value": _Where(
        "profiles", _VALUE, "count", "lower(value) = lower($text) and ($property = '' or property = $property)"
    ),
    "peak": _Where("peaks", "value", "count", "lower(value) = lower($text)"),
}
_ANY = (
    _Where("patterns", "pattern", "support", f"kind <> 'subtree' and {_WORDS}", "kind"),
    _Where(
        "patterns",
        "pattern",
        "support",
        f"kind = 'subtree' and ({_LABELS} or (starts_with($text, '(') and contains(lower(pattern), lower($text))))",
        "kind",
    ),
    _Where("profiles", "value", "count", "property = 'punctuation' and value = $text", "'mark'"),
    _Where("profiles", "value", "count", "property <> 'punctuation' and lower(value) = lower($text)", "property"),
    _Where("peaks", "value", "count", "lower(value) = lower($text)", "'peak'"),
)


# The table that a kind of search needs, and the job that makes it.
_NEEDED = {"peak": ("peaks", "tokens"), "explanation": ("explanations", "explain"), "audit": ("audited", "audit")}


class Query(NamedTuple):
    """A search query: `what` is one of `KINDS`; a limit that is None or empty does not apply."""

    what: str = "any"
    text: str = ""
    property: str = ""
    pole: str = ""
    layer: int | None = None
    least: float | None = None


def parse_query(given: Mapping[str, str]) -> Query | None:
    """Return the query of a form, or None if the form is empty.

    Args:
        given: the form's fields `what`, `q`, `property`, `pole`, `layer` and `least`; each may be missing.

    Raises:
        InputError: a value is not valid; the message names its field.
    """
    what = given.get("what", "any")
    text = " ".join(given.get("q", "").split())
    if what not in KINDS:
        raise InputError(f"what {one_line(what, 40)!r}: is none of {', '.join(KINDS)}")
    if not text and what != "score":
        return None
    if len(text) > MOST_CHARACTERS:
        raise InputError(f"q: is longer than {MOST_CHARACTERS} characters")
    pole = given.get("pole", "")
    if pole not in ("", "top", "bottom"):
        raise InputError(f"pole {one_line(pole, 40)!r}: is neither top nor bottom")
    layer, least = given.get("layer", "").strip(), given.get("least", "").strip()
    if layer and not (layer.isascii() and layer.isdigit() and len(layer) <= 4):
        raise InputError(f"layer {one_line(layer, 40)!r}: is not the number of a layer")
    if what == "any" and text.lower().startswith(VERDICT):
        what, text = "audit", text[len(VERDICT) :].strip()
    return Query(what, text, given.get("property", ""), pole, int(layer) if layer else None, _share(least))


def _share(text: str) -> float | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise InputError(f"least {one_line(text, 40)!r}: is not a number from 0 to 1")
    return value


class Searcher:
    """Answers queries with DuckDB, which sees only the given tables and can neither open files nor change anything.

    Args:
        tables: `topk`, `sentences`, `patterns` and `profiles`, and if they exist `scores`, `peaks`, `explanations`
            with `explanation_terms`, and `audited`, which is the table audit/neurons/.
        seconds: maximum duration of a search.
        silent: layer and unit of the silent neurons, which are not searched.
    """

    def __init__(
        self, tables: Mapping[str, ds.Dataset], seconds: float, silent: Collection[tuple[int, int]] = ()
    ) -> None:
        self.names, self.seconds = set(tables), seconds
        self._lock = Lock()
        self._connection = duckdb.connect(
            config={"enable_external_access": False, "memory_limit": MEMORY, "temp_directory": ""}
        )
        for name, table in tables.items():
            self._connection.register(name, table)
        if "scores" not in tables:
            self._connection.register("scores", schema("scores").empty_table())
        layers, units = [layer for layer, _ in silent], [unit for _, unit in silent]
        silenced = pa.table({"layer": pa.array(layers, pa.int16()), "unit": pa.array(units, pa.int32())})
        self._connection.register("silent", silenced)
        self._connection.execute("set lock_configuration = true")

    def find(self, query: Query) -> list[dict[str, Any]]:
        """Return at most `MOST` rows, each with `total`, the number of all matches; only one search runs at a time.

        Raises:
            InputError: the run lacks the table that the query needs, or the search exceeded its time limit.
        """
        table, job = _NEEDED.get(query.what, ("", ""))
        if table and table not in self.names:
            raise InputError(f"this run has no results of atlas {job}; run it, and open the page again")
        if (query.what == "score" or query.least is not None) and "scores" not in self.names:
            raise InputError("this run has no held-out scores (--no-scores)")
        sql, values = statement(query, self.names)
        with self._lock:
            timer = Timer(self.seconds, self._connection.interrupt)
            timer.start()
            try:
                cursor = self._connection.execute(sql, values)
                names = [column[0] for column in cursor.description or []]
                return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
            except duckdb.InterruptException as error:
                raise InputError(
                    f"the search took longer than {self.seconds:.0f} s; search for a rarer word or phrase"
                ) from error
            except duckdb.OutOfMemoryException as error:
                raise InputError(
                    f"the search needs more than {MEMORY} of memory; search for a rarer word or phrase"
                ) from error
            finally:
                timer.cancel()


def statement(query: Query, tables: Collection[str]) -> tuple[str, dict[str, Any]]:
    """Return the SQL of a query over these tables, which contains only fixed text, and the values to bind to it."""
    limits, values = ["(layer, unit) not in (select (layer, unit) from silent)"], dict[str, Any]()
    for name, value, condition in (
        ("pole", query.pole or None, "pole = $pole"),
        ("layer", query.layer, "layer = $layer"),
        ("least", query.least, "auc >= $least"),
    ):
        if value is not None:
            limits.append(condition)
            values[name] = value
    joined = " and ".join(limits)
    if query.what == "score":
        return _SCORES.format(limits=joined, order=ORDER, most=MOST), values
    values["text"] = query.text
    if query.what == "text":
        return _WINNERS.format(limits=joined, most=MOST, most_sentences=MOST_SENTENCES), values
    if query.what == "audit":
        return _AUDITED.format(limits=joined, order=ORDER, most=MOST), values
    if query.what == "explanation":
        return _EXPLAINED.format(limits=joined, most=MOST), values
    if query.what == "any":
        parts = [where.matched() for where in _ANY if where.table in tables]
        parts += [_ANY_EXPLAINED] if "explanations" in tables else []
        matched = " union all ".join(parts)
        return _NEURONS.format(matched=matched, limits=joined, order=ORDER, most=MOST), values
    if query.what == "value":
        values["property"] = query.property
    order = ORDER.replace("layer,", "g2 desc nulls last, layer,")
    return _NEURONS.format(matched=_WHERE[query.what].matched(), limits=joined, order=order, most=MOST), values
