"""Recompute the scores of a score card: print what explanations/ says, and the same numbers from the literals."""

import json
import sys
from pathlib import Path

import duckdb
import numpy as np
from sklearn.metrics import average_precision_score as average_precision

from ops.facts.examples import matched_words
from ops.penn import PUNCTUATION_TAGS

run = sys.argv[1]


def query(sql):
    """Return the rows of a query."""
    return duckdb.sql(sql).to_arrow_table().to_pylist()


options = json.loads(Path(run, "run.json").read_text())["stages"]["mine"]["config"] | {"word_case": "lower"}
literals = f"(from '{run}/explanation_terms/*.parquet' where model = 'winners')"
with_hubs = f"(from {literals} where kind = 'hub')"
(row,) = query(f"""from '{run}/explanations/*.parquet' anti join {with_hubs} using (layer, unit, pole)
    where f1 is not null order by f1 desc, layer, unit, pole limit 1""")
own = f"layer = {row['layer']} and unit = {row['unit']}"
terms = query(f"from {literals} where {own} and pole = '{row['pole']}'")
winners = {w["sent_id"] for w in query(f"from '{run}/topk/*.parquet' where {own} and pole = '{row['pole']}'")}
rows = [s for s in query(f"from '{run}/sentences/*.parquet'") if s["is_baseline"] or s["sent_id"] in winners]


def has(literal, sentence):
    """Return whether a literal holds for a sentence."""
    kind, items = literal["kind"], literal["items"]
    if kind in ("word", "tag", "subtree"):
        return matched_words(sentence, literal, options) is not None
    if kind == "length":
        return len(sentence["words"]) <= int(items[0])
    if kind == "value":
        return (sentence if items[0] == "dataset" else sentence["meta"])[items[0]] == items[1]
    marked = [tag in PUNCTUATION_TAGS for tag in sentence["tags"]]
    words = [word.lower() for word in sentence["words"]]
    return any(w in items and m == (kind == "mark") for w, m in zip(words, marked, strict=True))


wins = np.array([s["sent_id"] in winners for s in rows])
test = np.array([s["fold"] >= 5 for s in rows])
stands_for = (query(f"from '{run}/neurons/*.parquet' where {own}")[0]["n"] - wins.sum()) / (~wins).sum()
weight = np.where(wins, 1.0, stands_for)
score = np.round([sum(literal["weight"] * has(literal, s) for literal in terms) for s in rows], 6)


def measures(half, threshold):
    """Return precision, recall and F1 of a threshold on some of the sentences."""
    found, called = (weight[half & (score >= threshold) & some].sum() for some in (wins, True))
    return found / called, found / wins[half].sum(), 2 * found / (wins[half].sum() + called)


best = max(np.unique(score[~test]), key=lambda threshold: (round(measures(~test, threshold)[2], 12), threshold))
again = average_precision(wins[test], score[test], sample_weight=weight[test]), *measures(test, best)
print([row[name] for name in ("average_precision", "precision", "recall", "f1")], tuple(map(float, again)))
