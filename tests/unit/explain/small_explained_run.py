"""A small finished run with explanations, made up by hand, and what its literals say by plain Python."""

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.unit.facts.made_up_rows import write_tables

Row = dict[str, Any]

SENTENCES, SCORED = 240, 600
TAG_OF = {"exam": "NN", "see": "VB", "for": "IN", "the": "DT", "The": "DT", "a.b": "NN"}
TAG_OF |= {"?": ".", "-": "HYPH", ",": ","}
GAPS = {"word": 1, "tag": 2}
# Layer 2, unit 8 has literals that SQL can look up; unit 9 has a subtree too, and a higher F1.
WEIGHTS: list[tuple[str, list[str], float]] = [
    ("length", ["6"], 0.5),
    ("value", ["dataset", "books"], -0.75),
    ("word", ["see", "for"], 2.0),
    ("tag", ["VB", "DT"], 0.25),
    ("mark", ["?"], 1.5),
    ("word_class", ["exam", "a.b"], 2.25),
]
SUBTREE = ("subtree", ["NP", "DT"], 1.0)


def has(kind: str, items: list[str], sentence: Row) -> bool:
    """Whether a sentence answers yes, looked at word by word."""
    pairs = list(zip(sentence["words"], sentence["tags"], strict=True))
    marks = [word for word, tag in pairs if tag in (",", ".", "HYPH")]
    words = [word.lower() for word, tag in pairs if tag not in (",", ".", "HYPH")]
    tags = [tag for _, tag in pairs if tag not in (",", ".", "HYPH")]
    if kind == "length":
        return len(pairs) <= int(items[0])
    if kind == "value":
        return bool(sentence["dataset"] == items[1])
    if kind == "subtree":
        return "DT" in tags  # all words are right below the one NP
    if kind in ("mark", "word_class"):
        return bool(set(items) & set(marks if kind == "mark" else words))
    looked_at = words if kind == "word" else tags
    places = [i for i, item in enumerate(looked_at) if item == items[0]]
    for item in items[1:]:
        places = [
            i for i, other in enumerate(looked_at) if other == item and any(0 < i - j <= GAPS[kind] + 1 for j in places)
        ]
    return bool(places)


def score(weights: list[tuple[str, list[str], float]], sentence: Row) -> float:
    """Return a sentence's score."""
    return round(sum(weight * has(kind, items, sentence) for kind, items, weight in weights), 6)


def sentences() -> list[Row]:
    """Return the sentences: four a document, half of the documents held out."""
    rng = random.Random(5)
    rows = []
    for i in range(SENTENCES):
        words = rng.choices(list(TAG_OF), k=rng.randint(3, 12))
        tags = [TAG_OF[word] for word in words]
        tree = f"(ROOT (NP {' '.join(f'({tag} {word})' for word, tag in zip(words, tags, strict=True))}))"
        row = {"sent_id": i, "text": " ".join(words), "dataset": rng.choice(("books", "news")), "doc_id": f"d{i // 4}"}
        row |= {"words": words, "tags": tags, "tree": tree, "fold": (9, 1, 3)[i // 4 % 3], "wins": 1}
        rows.append({**row, "is_baseline": i % 10 > 0})
    return rows


def winners(weights: list[tuple[str, list[str], float]]) -> list[int]:
    """Return the sentences that win: those with a high score, but for some noise."""
    rng = random.Random(len(weights))
    ordered = sorted(sentences(), key=lambda row: -score(weights, row) - rng.gauss(0, 1.5))
    return [row["sent_id"] for row in ordered[:60]]


def write_run(folder: Path, measured: dict[int, Row]) -> None:
    """Write the tables of a run whose units 8 and 9 have these numbers in explanations/."""
    cards = {8: WEIGHTS, 9: [*WEIGHTS, SUBTREE]}
    terms: list[Row] = []
    explained: list[Row] = []
    topk: list[Row] = []
    for unit, weights in cards.items():
        key = {"layer": 2, "unit": unit, "pole": "top"}
        row = key | {"text": "Sentences with *see … for*.", "literals": len(weights), "n_train": 40, "n_test": 20}
        explained.append(row | {"family": 0, "verdict": "explained"} | measured[unit])
        common = {"model": "winners", "share": 0.5, "baseline_share": 0.1, "gain": 0.1, "also": [], "sent_ids": []}
        for rank, (kind, items, weight) in enumerate(weights, 1):
            pattern = "(NP (DT))" if kind == "subtree" else " ".join(items)
            own = {"kind": kind, "pattern": pattern, "items": items, "weight": weight, "negated": weight < 0}
            terms.append(key | common | own | {"rank": rank})
        given = enumerate(winners(weights), 1)
        topk += [key | {"rank": rank, "activation": -float(rank), "sent_id": i} for rank, i in given]
    own = {"kind": "word", "pattern": "see", "items": ["see"], "weight": 0.5, "negated": False, "rank": 1}
    terms.append({"layer": 2, "unit": 8, "pole": None} | common | own | {"model": "range"})
    member = {"family": 0, "layer": 2, "pole": "top", "correlation": 1.0}
    control = {"layer": 2, "basis": "neurons", "model": "range", "measure": "r2_beyond", "n": 2, "mean": 0.1}
    control |= {f"q{q:02}": 0.1 for q in (5, 25, 50, 75, 95)}
    tables = {
        "explanations": explained,
        "explanation_terms": terms,
        "families": [member | {"unit": unit, "is_leader": unit == 8} for unit in cards],
        "explain/controls": [control],
        "explain/literals": [
            {"kind": kind, "pattern": " ".join(items), "items": items, "listed": 3} for kind, items, _ in WEIGHTS
        ],
        "examples": [
            {"layer": 2, "unit": 8, "quantile": 9, "sent_id": 3, "activation": 1.0},
            {"layer": 2, "unit": 8, "pole": "top", "rank": 1, "sent_id": 5, "activation": -1.0},
        ],
        "topk": topk,
    }
    write_tables(folder, {**tables, "neurons": [{"layer": 2, "unit": unit, "n": SCORED} for unit in cards]})
    is_winner = {row["sent_id"] for row in topk}
    (folder / "sentences").mkdir()
    given_rows = [row | {"is_winner": row["sent_id"] in is_winner} for row in sentences()]
    pq.write_table(pa.Table.from_pylist(given_rows), folder / "sentences" / "part-00000.parquet")
    options = {f"{kind}_max_gap": gap for kind, gap in GAPS.items()}
    options |= {"word_case": "keep", "punctuation": "drop", "subtree_root": "keep"}  # type: ignore[dict-item]
    (folder / "run.json").write_text(json.dumps({"stages": {"mine": {"config": options}}}), "utf-8")
