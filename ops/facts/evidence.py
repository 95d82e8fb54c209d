"""The evidence that searches rank: what winners have more often than the corpus, from all tables, in one form."""

from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from scipy.special import chdtrc, rel_entr

from ops.facts.findings import LEAST_COUNT, MAX_Q, measured_class
from ops.facts.query import APART, JOINED, normalised
from ops.facts.rows import POLE, Row, Rows, key_of

# What a text is compared as: words in lower case, codes of tags and labels, the name of a value, or alternatives.
FORMS = ("words", "codes", "name", "group")
KINDS = ("word", "tag", "subtree", "mark", "peak", "word_class")  # the kinds of evidence that are not properties
# Properties that count tokens or lengths, and whose values are no evidence of anything that a phrase names.
LEFT_OUT = ("tag", "tag_class", "words_per_sentence")
OF_PLACES = ("first_word", "last_word")  # a word there is found by its property; the word alone means it anywhere
_WORDS = ("noun", "verb", "adjective", "punctuation")
SCHEMA = pa.schema(
    [("layer", pa.int16()), ("unit", pa.int32()), ("pole", pa.string()), ("kind", pa.string()), ("found", pa.string()),
     ("form", pa.string()), ("text", pa.string()), ("rank", pa.int32()), ("count", pa.int64()), ("n", pa.int64()),
     ("share", pa.float64()), ("baseline_share", pa.float64()), ("lift", pa.float64()), ("q", pa.float64()),
     ("g2", pa.float64()), ("is_expected", pa.bool_())]
)  # fmt: skip
LISTED = "listed_evidence"  # the table of the rows that `listed_evidence` returns
_IS_SURE = f"g2 > 0 and lift > 1 and q_value < {MAX_Q}"
# The SQL of a name as `ops.facts.query.normalised` returns it.
NAME = f"trim(regexp_replace(lower({{}}), '{JOINED}', '{APART}', 'g'))"
_MEASURES = "share, baseline_share, lift, q_value as q, round(g2::double, 1) as g2, false as is_expected"
# The SQL that leaves out what is typical of a neuron and pole where it is also found in comparison with the corpus, so
# that all neurons are ranked by the same comparison: of ten hits for each of twenty phenomena, 6.0 instead of 5.5 were
# among the thirty units whose activations tell best who has it (`python -m bench search`).
COMPARED_ALIKE = """
qualify not is_expected or not bool_or(not is_expected) over (partition by layer, unit, pole, form, text)
"""


class Branch(NamedTuple):
    """The evidence of one form in one table, as SQL of rows with the columns of `SCHEMA`."""

    table: str
    form: str
    sql: str


def _branch(table: str, form: str, kind: str, found: str, text: str, count: str, where: str) -> Branch:
    row = f"layer, unit, pole, {kind} as kind, {found} as found, '{form}' as form, {text} as text, rank, {count}"
    return Branch(table, form, f"select {row}, {_MEASURES} from {table} where {_IS_SURE} and {where}")


_SUPPORT = "support as count, round(support / share)::bigint as n"
_OF_PATTERNS = f"support >= {LEAST_COUNT} and kind"
_OF_PROPERTIES = f"count >= {LEAST_COUNT} and property"
_MARK = "if(property = 'punctuation', 'mark', property)"
# In a subtree, the labels in order are its codes.
_CODES = "if(kind = 'tag', pattern, translate(pattern, '()', ''))"
# Evidence is what at least 3 winners have, and more often than the corpus with a q below 0.05. `text` is compared with
# a phrase in the way of `form`; `g2` is rounded to one decimal place, as a static site stores it; `rank` is that by g2
# within neuron, pole and kind; `is_expected` says whether the baseline share is not that of the corpus but what the
# data sets and lengths of the winners would give.
BRANCHES = (
    _branch("patterns", "words", "kind", "pattern", "lower(pattern)", _SUPPORT, f"{_OF_PATTERNS} = 'word'"),
    _branch("patterns", "codes", "kind", "pattern", _CODES, _SUPPORT, f"{_OF_PATTERNS} <> 'word'"),
    _branch("profiles", "words", _MARK, "value", "lower(value)", "count, n", f"{_OF_PROPERTIES} in {_WORDS}"),
    _branch(
        "profiles", "name", "property", "value", NAME.format("value"), "count, n",
        f"{_OF_PROPERTIES} not in {(*_WORDS, *LEFT_OUT)}",
    ),
    _branch("peaks", "words", "'peak'", "value", "lower(value)", "count, n", f"{_OF_PROPERTIES} = 'peak_word'"),
    _branch("peaks", "codes", "'peak'", "value", "value", "count, n", f"{_OF_PROPERTIES} = 'peak_tag'"),
    *(Branch(LISTED, form, f"select * from {LISTED} where form = '{form}'") for form in FORMS),
)  # fmt: skip


def listed_evidence(tables: Mapping[str, ds.Dataset]) -> pa.Table:
    """Return the evidence that explanations list, by `SCHEMA`: their typical items, and classes of words."""
    rows = [*_typical(tables["explanations"]), *_word_classes(tables)] if "explanations" in tables else []
    return pa.Table.from_pylist(rows, SCHEMA)


def _typical(explanations: ds.Dataset) -> Rows:
    """Return the entries of `typical`, whose strength is the signed G2 of the winners against the expected number."""
    rows = []
    for explained in explanations.to_table(columns=[*POLE, "n", "typical"]).to_pylist():
        n = explained.pop("n")
        for rank, entry in enumerate(explained.pop("typical") or (), 1):
            count, expected = entry["winners"], max(entry["expected"], 1e-9)
            g2 = 2 * float(rel_entr(count, expected) + rel_entr(n - count, max(n - expected, 1e-9)))
            if count > expected and entry["q"] < MAX_Q and count >= LEAST_COUNT:
                measured = {"rank": rank, "count": count, "n": n, "share": count / n, "baseline_share": expected / n}
                measured |= {"lift": count / expected, "q": entry["q"], "g2": round(g2, 1), "is_expected": True}
                rows.append(explained | as_text(entry) | measured)
    return rows


def as_text(entry: Row) -> dict[str, str]:
    """Return the kind of a typical entry, what was found, and the form and text with which a phrase is compared."""
    kind, found, words = entry["kind"], entry["pattern"], [word.lower() for word in entry["words"] or ()]
    if kind in ("value", "form") and ": " in found:  # such as `sentiment: negative` and `first word: the`
        kind, _, found = found.partition(": ")
        kind = kind.replace(" ", "_")
    if kind == "word_class" or len(words) > 1:
        form, text = "group", "|".join(words or found.lower().split(", "))
    elif kind == "word":
        form, text = "words", found.lower()
    elif kind in ("tag", "subtree"):
        form, text = "codes", found.replace("(", "").replace(")", "")
    else:
        form, text = "name", normalised(found)
    return {"kind": kind, "found": found, "form": form, "text": text}


def _word_classes(tables: Mapping[str, ds.Dataset]) -> Rows:
    """Return the classes of words of score cards.

    A card chose its class among all literals of the pool, so q is the p value of G2 times their number.
    """
    is_class = (pc.field("kind") == "word_class") & (pc.field("model") == "winners") & ~pc.field("negated")
    columns = [*POLE, "pattern", "items", "share", "baseline_share"]
    terms = tables["explanation_terms"].to_table(columns=columns, filter=is_class)
    winners = {key_of(row): row["n"] for row in tables["explanations"].to_table(columns=[*POLE, "n"]).to_pylist()}
    of_dataset = pc.field("property") == "dataset"
    others = pc.max(tables["profiles"].to_table(columns=["baseline_n"], filter=of_dataset)["baseline_n"]).as_py() or 0
    literals, rows = tables["explain/literals"].count_rows(), []
    for term in terms.to_pylist() if others else ():
        measured = measured_class(term, winners[key_of(term)], others)
        q = min(1.0, float(chdtrc(1, abs(measured["g2"]))) * literals)
        if measured["g2"] > 0 and measured["lift"] > 1 and q < MAX_Q and measured["count"] >= LEAST_COUNT:
            text = "|".join(item.lower() for item in term.pop("items"))
            entry = {"kind": "word_class", "found": term["pattern"], "form": "group", "text": text, "rank": 1, "q": q}
            rows.append(measured | term | entry | {"g2": round(measured["g2"], 1), "is_expected": False})
    return rows
