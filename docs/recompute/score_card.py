"""Recompute the scores of ten score cards: print what explanations/ says, and the same numbers from the literals."""

import json
import sys
from pathlib import Path

import duckdb
import numpy as np

from ops.facts.examples import matched_words
from ops.forms.find import sentences_with
from ops.penn import PUNCTUATION_TAGS

run = sys.argv[1]


def query(sql):
    """Return the rows of a query."""
    return duckdb.sql(sql).to_arrow_table().to_pylist()


options = json.loads(Path(run, "run.json").read_text())["stages"]["mine"]["config"] | {"word_case": "lower"}
cards = f"'{run}/explanation_folds/*.parquet'"
with_hubs = f"(from {cards} where kind = 'hub')"
(row,) = query(f"""from '{run}/explanations/*.parquet' anti join {with_hubs} using (layer, unit, pole)
    where f1 is not null order by f1 desc, layer, unit, pole limit 1""")
own = f"layer = {row['layer']} and unit = {row['unit']}"
terms = query(f"from {cards} where {own} and pole = '{row['pole']}'")
winners = {w["sent_id"] for w in query(f"from '{run}/topk/*.parquet' where {own} and pole = '{row['pole']}'")}
every = query(f"from '{run}/sentences/*.parquet'")
rows = [s for s in every if s["is_baseline"] or s["sent_id"] in winners]
forms = {tuple(t["items"]) for t in terms if t["kind"] == "form"}
having = {own: {every[i]["sent_id"] for i in sentences_with(*own, every, are_all=True)} for own in forms}


def has(literal, sentence):
    """Return whether a literal holds for a sentence."""
    kind, items = literal["kind"], literal["items"]
    if kind in ("word", "tag", "subtree"):
        return matched_words(sentence, literal, options) is not None
    if kind == "length":
        return len(sentence["words"]) <= int(items[0])
    if kind == "form":
        return sentence["sent_id"] in having[tuple(items)]
    if kind == "value":
        value = (sentence if items[0] == "dataset" else sentence["meta"])[items[0]]
        return value is not None if len(items) == 1 else value == items[1]
    marked = [tag in PUNCTUATION_TAGS for tag in sentence["tags"]]
    words = [word.lower() for word in sentence["words"]]
    return any(w in items and m == (kind == "mark") for w, m in zip(words, marked, strict=True))


def is_called(sentence):
    """Return whether the card of a sentence's fold calls it a winner; a card without literals calls nothing."""
    card = [literal for literal in terms if literal["fold"] == sentence["fold"]]
    if not card:
        return False
    score = card[0]["intercept"] + sum(literal["weight"] * has(literal, sentence) for literal in card)
    return round(score, 6) >= card[0]["threshold"]


wins = np.array([s["sent_id"] in winners for s in rows])
called = np.array([is_called(s) for s in rows])
each = (query(f"from '{run}/neurons/*.parquet' where {own}")[0]["n"] - wins.sum()) / (~wins).sum()
hits, false_calls = (called & wins).sum(), (called & ~wins).sum() * each + (each / 2 if each > 1 else 0)
again = hits / (hits + false_calls), hits / wins.sum(), 2 * hits / (hits + false_calls + wins.sum())
print([row[name] for name in ("precision", "recall", "f1")], tuple(map(float, again)))
