"""Search over a run's tables: neurons by what their winners have, ranked by the evidence of the match itself."""

import math
import re
from collections.abc import Collection, Mapping
from functools import cached_property
from threading import Lock, Timer
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from ops.errors import InputError, one_line
from ops.facts.evidence import BRANCHES, COMPARED_ALIKE, KINDS, LISTED, NAME, OF_PLACES, Branch, listed_evidence
from ops.facts.listing import Columns, Listing
from ops.facts.query import AUDITED, PERSON, PLURAL, PRONOUN, TEXT, Query, normalised
from ops.facts.rows import Key, Row
from ops.facts.run_facts import RunFacts
from ops.facts.text import number
from ops.penn_names import codes_by_name
from ops.schema import schema

MOST, MOST_SENTENCES = 100, 1_000
MEMORY = "1GB"
SEARCHED = (
    "topk", "sentences", "patterns", "profiles", "peaks", "explanations", "explanation_terms", "explain/literals",
    "scores", "audit/neurons",
)  # fmt: skip
_OPTIONAL = ("scores", "explanations", "audit/neurons")
_SILENT = {"layer": pa.int16(), "unit": pa.int32()}
_KNOWN = f"""
  left join scores using (layer, unit, pole)
  left join (select layer, unit, pole, text as explanation, verdict, margin_low from explanations)
    using (layer, unit, pole)
  left join (select layer, unit, pole, verdict as across, ported, datasets from "audit/neurons")
    using (layer, unit, pole)
where (layer, unit) not in (select (layer, unit) from silent) and {{limits}} order by {{order}} limit {MOST}
"""
_COLUMNS = "explanation, verdict, margin_low, across, ported, datasets, auc, auc_excess, count(*) over () as total"
# One row for each neuron and pole, with its strongest match: what is exactly the phrase before what contains it.
_MATCHED = f"""
select found.*, {{columns}} from (
  select * from (select * from ({{evidence}}) where level is not null {COMPARED_ALIKE}) where {{matches}}
  qualify row_number() over (partition by layer, unit, pole order by level, g2 desc, kind, found) = 1
) as found {{known}}
"""
_LISTED = """
select layer, unit, pole, {columns} from (
  select layer, unit, pole from explanations union select layer, unit, pole from scores
  union select layer, unit, pole from "audit/neurons"
) {known}
"""
_SENTENCES = f"""
select layer, unit, pole, rank, activation, sentence as found, dataset, {{columns}} from topk join (
  select sent_id, text as sentence, dataset from sentences
  where is_winner and contains(lower(text), $words) order by sent_id limit {MOST_SENTENCES}
) using (sent_id) {{known}}
"""
BY_MATCH = "level, g2 desc, layer, unit, pole"
BY_VERDICT = "margin_low desc nulls last, auc_excess desc nulls last, layer, unit, pole"
_MATCH: Columns = (
    ("G2", "{g2:.1f}"), ("lift", "{lift:lift}"), ("q", "{q:q}"), ("winners", "{count:,} of {n:,}"),
    ("found", "{kind:plain}: {found}"), ("verdict", "{verdict}"), ("explanation", "{explanation}"),
)  # fmt: skip
_VERDICT: Columns = (
    ("beyond", "{margin_low:.3f}"), ("score", "{auc:.3f}"), ("excess", "{auc_excess:.3f}"), ("verdict", "{verdict}"),
    ("explanation", "{explanation}"),
)  # fmt: skip
_ACROSS: Columns = (("data sets", "{across:plain}"), ("holds in", "{ported} of {datasets}"))
_SENTENCE: Columns = (("rank", "{rank}"), ("activation", "{activation:activation}"), ("sentence", "{found}"))
_ORDERS = {
    "match": "by the G2 of the match; what is exactly the phrase comes before what contains it",
    "verdict": "those whose F1 is surely furthest above their controls first",
    "sentence": f"the highest ranks first, of at most {MOST_SENTENCES:,} sentences that contain it",
}


class Searcher:
    """Answers queries with DuckDB, which sees only the given tables and can neither open files nor change anything.

    Args:
        tables: those of `SEARCHED` that the run has.
        seconds: maximum duration of a search.
        silent: layer and unit of the silent neurons, which are not searched.
    """

    def __init__(
        self, tables: Mapping[str, ds.Dataset], seconds: float, silent: Collection[tuple[int, int]] = ()
    ) -> None:
        self.tables, self.seconds = tables, seconds
        self._lock = Lock()
        self._connection = duckdb.connect(
            config={"enable_external_access": False, "memory_limit": MEMORY, "temp_directory": ""}
        )
        for name, table in tables.items():
            self._connection.register(name, table)
        for name in set(_OPTIONAL) - set(tables):
            self._connection.register(name, schema(name).empty_table())
        self._connection.register(LISTED, listed_evidence(tables))
        rows = [{"layer": layer, "unit": unit} for layer, unit in silent]
        self._connection.register("silent", pa.Table.from_pylist(rows, pa.schema(_SILENT)))
        self._connection.execute("set lock_configuration = true")
        self._branches = [branch for branch in BRANCHES if branch.table in (*tables, LISTED)]

    @classmethod
    def of(cls, run: RunFacts, seconds: float) -> "Searcher":
        """Return the searcher of a run."""
        tables = {name: run.tables.dataset(name) for name in SEARCHED if name in run.table_names}
        return cls(tables, seconds, run.silent)

    @cached_property
    def properties(self) -> frozenset[str]:
        """The properties that can be searched by name, as a query's `kind` writes them."""
        rows = self._execute(f"select distinct {_named('property')} as name from profiles", {})
        return frozenset(row["name"] for row in rows)

    def find(self, query: Query) -> list[dict[str, Any]]:
        """Return at most `MOST` rows, each with `total`, the number of all matches; only one search runs at a time.

        A row has `layer`, `unit` and `pole`, the columns of the match (`kind`, `found`, `level`: 0 if it is exactly
        the phrase, `count`, `n`, `share`, `baseline_share`, `lift`, `q`, `g2`) or, for `text:`, those of the winner
        (`rank`, `activation`, `found`, `dataset`), and what is known of the neuron: `explanation`, `verdict`, `auc`,
        `auc_excess`, and by the audit `across`, `ported` and `datasets`.

        Raises:
            InputError: the run lacks the table that the query needs, nothing has the name of its kind, or the search
                exceeded its time limit.
        """
        self._check(query)
        sql, values = statement(query, self._branches)
        return self._execute(sql, values)

    def index(self, columns: str, where: str) -> pa.Table:
        """Return the evidence about neurons that are not silent, for an index: these columns, where this holds."""
        heard = "(layer, unit) not in (select (layer, unit) from silent)"
        with self._lock:
            evidence = " union all ".join(branch.sql for branch in self._branches)
            alike = f"select * from ({evidence}) where {heard} {COMPARED_ALIKE}"
            sql = f"select {columns} from ({alike}) where {where} order by all"
            return self._connection.sql(sql).to_arrow_table()

    def _check(self, query: Query) -> None:
        needed = {"peak": ("peaks", "tokens"), "word_class": ("explanations", "explain")}.get(query.kind)
        if query.verdict:
            needed = ("audit/neurons", "audit") if query.verdict in AUDITED else ("explanations", "explain")
        if needed and needed[0] not in self.tables:
            raise InputError(f"this run has no results of atlas {needed[1]}; run it, and search again")
        if any(name == "score" for name, *_ in query.numbers) and "scores" not in self.tables:
            raise InputError("this run has no held-out scores (--no-scores)")
        if query.kind and query.kind not in (*KINDS, TEXT) and query.kind not in self.properties:
            known = ", ".join((*KINDS, TEXT, *sorted(self.properties)))
            shown = one_line(query.kind, 40)
            raise InputError(f'{shown}: is no kind or property ({known}); put a text with a colon in "quotation marks"')

    def _execute(self, sql: str, values: dict[str, Any]) -> list[dict[str, Any]]:
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
                    limit = f"took longer than {number(self.seconds, '.0f')} s"
                raise InputError(f"the search {limit}; search for a rarer word or phrase") from error
            finally:
                timer.cancel()


def statement(query: Query, evidence: list[Branch]) -> tuple[str, dict[str, Any]]:
    """Return the SQL of a query over the evidence, which contains only fixed text, and the values to bind to it."""
    values: dict[str, Any] = query._asdict() | {"words": query.text.lower()}
    limits = [f"{name} = ${name}" for name in ("layer", "pole") if values[name] not in ("", None)]
    if query.verdict:
        limits.append(f"{'across' if query.verdict in AUDITED else 'verdict'} = $verdict")
    matches = [f"{_named('kind')} = $kind"] if query.kind else []
    for i, (name, comparison, limit) in enumerate(query.numbers):
        conditions, column = (limits, "auc") if name == "score" else (matches, name)
        conditions.append(f"{column} {comparison} $number{i}")
        values[f"number{i}"] = limit
    form, order = _LISTED, BY_VERDICT
    matched = ""
    if query.kind == TEXT:
        form, order = _SENTENCES, "rank, layer, unit, pole"
    elif query.text:
        form, order = _MATCHED, BY_MATCH
        levels, phrase = _levels(query)
        matched = " union all ".join(
            f"select *, {levels[branch.form]} as level from ({branch.sql})"
            for branch in evidence
            if branch.form in levels
        )
        values |= phrase
    known = _KNOWN.format(limits=" and ".join([*limits, "true"]), order=order)
    sql = form.format(columns=_COLUMNS, known=known, evidence=matched, matches=" and ".join([*matches, "true"]))
    return sql, {name: value for name, value in values.items() if f"${name}" in sql}


def by_verdict(key: Key, known: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the place of a neuron and pole in lists without a phrase, as `BY_VERDICT` orders them in SQL.

    >>> by_verdict((3, 7, "top"), {"margin_low": 0.5, "auc_excess": None})
    (-0.5, inf, 3, 7, 'top')
    """
    ends = (known.get(name) for name in ("margin_low", "auc_excess"))
    return (*(math.inf if end is None else -end for end in ends), *key)


def _levels(query: Query) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the SQL of how well evidence of each form matches a query's phrase, and the values to bind.

    It is 0 if the evidence is the phrase, 1 if it contains it, otherwise null. Forms that cannot match are left out.
    Words are compared with the phrase in lower case, values with the phrase as a name (forms in the singular too), and
    codes with the phrase itself and with those that it names. Tags and labels have capital letters, unless asked for.
    """
    known, name = codes_by_name(), normalised(query.text)
    text = query.text.upper() if query.kind in ("tag", "subtree") else query.text
    forms = dict.fromkeys((name, re.sub(PLURAL, r"\1", name), re.sub(PERSON, PRONOUN, name)))
    meant = dict.fromkeys((text, *known.get(name, ())))
    if query.is_quoted:
        forms, meant = {name: None}, {}
    values: dict[str, Any] = {f"name{i}": name for i, name in enumerate(forms)}
    values |= {f"code{i}": code for i, code in enumerate(meant)}
    names, codes = ([f"${name}" for name in values if name.startswith(start)] for start in ("name", "code"))
    kind, named = NAME.format("kind"), ", ".join(names)
    value = f"text in ({named})" + ("" if query.kind else f" and kind not in {OF_PLACES}")
    in_value = " or ".join(_contains(f"{kind} || ' ' || text || ' ' || {kind}", name) for name in names)
    levels = {
        "name": _case(f"{value} or {kind} || ' ' || text in ({named}) or text || ' ' || {kind} in ({named})", in_value)
    }
    every = {code for codes in known.values() for code in codes}
    if query.is_quoted or query.kind or not all(part.isalpha() and part in every for part in text.split()):
        levels["words"] = _case("text = $words", _contains("text", "$words"))
        levels["group"] = "case when contains('|' || text || '|', '|' || $words || '|') then 1 end"
    if codes:
        anywhere = " or ".join(_contains("text", code) for code in codes)
        in_tree = "starts_with($code0, '(') and contains(found, $code0)"
        levels["codes"] = _case(f"text in ({', '.join(codes)}) or found = $code0", f"{anywhere} or ({in_tree})")
    return levels, values


def _named(column: str) -> str:
    """Return the SQL of a kind or property as a query's `kind` writes it."""
    return f"replace({NAME.format(column)}, ' ', '_')"


def _case(is_phrase: str, contains_it: str) -> str:
    return f"case when {is_phrase} then 0 when {contains_it} then 1 end"


def _contains(text: str, part: str) -> str:
    """Return the SQL of whether a text, whose words are separated by spaces, has a part as complete words."""
    return f"contains(' ' || {text} || ' ', ' ' || {part} || ' ')"


def found_listing(query: Query, rows: list[Row], unit: str) -> Listing:
    """Return the rows that `Searcher.find` returned as a list; its first column is called `unit`, such as `neuron`."""
    total = rows[0]["total"] if rows else 0
    if not rows:
        about = "Nothing was found."
        about += " With weaker limits there may be more." if query.numbers else ""
        is_name = query.text and query.kind != TEXT
        return Listing(about + (" Tags and labels have capital letters, such as VBN or NP." if is_name else ""))
    columns, order = (_MATCH, "match") if query.text else (_VERDICT, "verdict")
    if query.kind == TEXT:
        columns, order = _SENTENCE, "sentence"
    elif rows[0]["across"] is not None and not query.text:
        columns = (*_VERDICT[:-1], *_ACROSS, _VERDICT[-1])
    count = f"{total:,}" if len(rows) == total else f"{len(rows):,} of {total:,}"
    return Listing.of(f"{count} found, {_ORDERS[order]}", [(unit, "{layer}:{unit} {pole}"), *columns], rows)
