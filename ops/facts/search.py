"""Search over a run's tables: the kinds of queries, and the SQL that answers them with every value bound."""

from collections.abc import Collection, Mapping
from functools import partial
from threading import Lock, Timer
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from ops.errors import InputError, one_line
from ops.facts.findings import LEAST_COUNT
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
VERDICT = "verdict:"  # before an audit's verdict, since a verdict is also an ordinary word
MEMORY = "1GB"

# The order of the search field, in a static site too.
ORDER = "auc_excess desc nulls last, layer, unit, pole"
_SEARCH = f"""
select matched.*, auc, auc_excess, count(*) over () as total
from ({{matched}}) as matched left join scores using (layer, unit, pole)
where {{limits}} order by {{order}} limit {MOST}
"""
# One row for each neuron and pole, with its strongest match.
_STRONGEST = """
  select * from ({matched})
  qualify row_number() over (partition by layer, unit, pole order by g2 desc nulls first, kind, found) = 1
"""
# A pattern's words are separated by spaces, so spaces around both texts make sure that only complete words match.
_WORDS = "contains(' ' || lower(pattern) || ' ', ' ' || lower($text) || ' ')"
_LABELS = "contains(' ' || lower(translate(pattern, '()', '')) || ' ', ' ' || lower($text) || ' ')"
_IN_TREE = "contains(lower(pattern), lower($text))"
_IS_VALUE = "lower(value) = lower($text)"
# Searches an explanation's text and the items of its literals, because a class has more words than its name.
_EXPLAINED = """
  from explanations where contains(lower(text), lower($text)) or (layer, unit, pole) in (
    select (layer, unit, pole) from explanation_terms
    where model = 'winners' and list_contains(list_transform(items, lambda item: lower(item)), lower($text)))
"""


def _rows(table: str, found: str, count: str, where: str, kind: str = "''") -> str:
    """Return the SQL of what enough winners have, and more often than the corpus."""
    return f"""
  select layer, unit, pole, {kind} as kind, {found} as found, {count} as count, share, baseline_share, lift, g2
  from {table} where g2 > 0 and {count} >= {LEAST_COUNT} and {where}
"""


_patterns, _peaks = partial(_rows, "patterns", "pattern", "support"), partial(_rows, "peaks", "value", "count")
_profiles = partial(_rows, "profiles")
# The SQL of the matches of each kind of search. An audit's verdict may be written with a space or an underscore.
_MATCHED = {
    "word": _patterns(f"kind = 'word' and {_WORDS}"),
    "tag": _patterns(f"kind = 'tag' and {_WORDS}"),
    "subtree": _patterns(f"kind = 'subtree' and {_IN_TREE}"),
    "pattern": _patterns("lower(pattern) = lower($text)"),
    "value": _profiles(
        "property || ': ' || value", "count", f"{_IS_VALUE} and ($property = '' or property = $property)"
    ),
    "peak": _peaks(_IS_VALUE),
    "explanation": f"select layer, unit, pole, text as found, verdict, f1, margin_low {_EXPLAINED}",
    "audit": """
  select layer, unit, pole, audited.verdict, transfer, ported, datasets, text as found
  from "audit/neurons" as audited left join explanations using (layer, unit, pole)
  where audited.verdict = replace(lower($text), ' ', '_')
""",
    "score": "select layer, unit, pole from scores where auc is not null",
    "text": f"""
  select layer, unit, pole, rank, activation, text as found, dataset from topk join (
    select sent_id, text, dataset from sentences where is_winner and contains(lower(text), lower($text))
    order by sent_id limit {MOST_SENTENCES}) using (sent_id)
""",
}
# The matches of a search for anything, by the table that they need.
_ANY = (
    ("patterns", _patterns(f"kind <> 'subtree' and {_WORDS}", "kind")),
    ("patterns", _patterns(f"kind = 'subtree' and ({_LABELS} or (starts_with($text, '(') and {_IN_TREE}))", "kind")),
    ("profiles", _profiles("value", "count", "property = 'punctuation' and value = $text", "'mark'")),
    ("profiles", _profiles("value", "count", f"property <> 'punctuation' and {_IS_VALUE}", "property")),
    ("peaks", _peaks(_IS_VALUE, "'peak'")),
    (
        "explanations",
        f"""
  select layer, unit, pole, 'explanation' as kind, text as found, null::bigint as count, null::float as share,
  null::float as baseline_share, null::float as lift, null::float as g2 {_EXPLAINED}
""",
    ),
)
_BY_G2 = ("word", "tag", "subtree", "pattern", "value", "peak")
# The order of the kinds of search that do not have that of the search field.
_ORDERS = dict.fromkeys(_BY_G2, ORDER.replace(",", ", g2 desc nulls last,", 1)) | {
    "explanation": ORDER.replace(",", ", margin_low desc nulls last,", 1),
    "text": "rank, layer, unit, pole",
}
_LIMITS = {"pole": "pole = $pole", "layer": "layer = $layer", "least": "auc >= $least"}

_SILENT = {"layer": pa.int16(), "unit": pa.int32()}
# The table that a kind of search needs, and the job that makes it.
_NEEDED = {"peak": ("peaks", "tokens"), "explanation": ("explanations", "explain"), "audit": ("audit/neurons", "audit")}


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
            with `explanation_terms`, and `audit/neurons`.
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
        rows = [{"layer": layer, "unit": unit} for layer, unit in silent]
        self._connection.register("silent", pa.Table.from_pylist(rows, pa.schema(_SILENT)))
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
            except (duckdb.InterruptException, duckdb.OutOfMemoryException) as error:
                limit = f"needs more than {MEMORY} of memory"
                if isinstance(error, duckdb.InterruptException):
                    limit = f"took longer than {self.seconds:.0f} s"
                raise InputError(f"the search {limit}; search for a rarer word or phrase") from error
            finally:
                timer.cancel()


def statement(query: Query, tables: Collection[str]) -> tuple[str, dict[str, Any]]:
    """Return the SQL of a query over these tables, which contains only fixed text, and the values to bind to it."""
    given = query._asdict()
    limits = ["(layer, unit) not in (select (layer, unit) from silent)"]
    limits += [condition for name, condition in _LIMITS.items() if given[name] not in ("", None)]
    if query.what == "any":
        matched = " union all ".join(sql for table, sql in _ANY if table in tables)
    else:
        matched = _MATCHED[query.what]
    if query.what in ("any", *_BY_G2):
        matched = _STRONGEST.format(matched=matched)
    sql = _SEARCH.format(matched=matched, limits=" and ".join(limits), order=_ORDERS.get(query.what, ORDER))
    return sql, {name: value for name, value in given.items() if f"${name}" in sql}
