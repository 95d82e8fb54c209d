"""A neuron's explanation, read from its tables and laid out."""

from pathlib import Path
from typing import Any

import pyarrow as pa

from ops.schema import schema
from ops.show.explanation import lay_out_explanation, lay_out_terms, read_explanation, said_verdict
from ops.storage.store import Store
from ops.storage.tables import write_part

HERE = {"layer": 2, "unit": 5}
F1 = {"f1": 0.41, "f1_low": 0.35, "f1_high": 0.47, "single_f1": 0.3, "nuisance_f1": 0.12, "matched_f1": 0.05}
ROW: dict[str, Any] = {**HERE, **F1, "pole": "top", "text": "Sentences with *see*: 64 % of its winners.", "literals": 1}
ROW |= {"n_train": 40, "n_test": 60, "family": 7, "verdict": "explained", "random_f1": 0.01}


def term(model: str, pole: str | None, pattern: str, **more: Any) -> dict[str, Any]:
    row = {**HERE, "model": model, "pole": pole, "rank": 1, "kind": "word", "pattern": pattern, "items": [pattern]}
    row |= {"negated": False, "weight": 2.0, "share": 0.64, "baseline_share": 0.03, "gain": 0.25}
    return {**row, "also": [], "sent_ids": [3], **more}


def member(unit: int, pole: str, correlation: float, is_leader: bool = False, family: int = 7) -> dict[str, Any]:
    row = {"layer": 2, "unit": unit, "pole": pole, "correlation": correlation, "is_leader": is_leader}
    return {**row, "family": family}


TABLES = {
    "explanations": [{**ROW, "pole": "bottom", "text": "another", "family": 8}, ROW],
    "explanation_terms": [
        term("range", None, "the", weight=-0.5, negated=True),
        term("winners", "bottom", "other"),
        term("winners", "top", "see"),
    ],
    "families": [
        member(4, "top", 1.0, is_leader=True),
        member(5, "bottom", 1.0, is_leader=True, family=8),
        member(5, "top", 0.75),
        member(6, "bottom", -0.625),
    ],
}


def read(folder: Path, unit: int = 5, pole: str = "top") -> dict[str, Any] | None:
    store = Store(str(folder))
    for name, rows in TABLES.items():
        write_part(store, name, 0, schema(name), [pa.Table.from_pylist(rows, schema(name))], "f")
    return read_explanation(store, 2, unit, pole)


def test_an_explanation_is_read_with_its_literals_and_its_family(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert found is not None
    assert found["text"] == ROW["text"]
    assert [(t["model"], t["pattern"]) for t in found["terms"]] == [("range", "the"), ("winners", "see")]
    assert found["alike"] == {"leader": {"layer": 2, "unit": 4, "pole": "top"}, "members": 3}
    assert read(tmp_path, unit=6) is None


def test_the_sentence_comes_first_and_where_its_family_is_found(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert found is not None
    assert lay_out_explanation(found, 300) == [
        "Sentences with *see*: 64 % of its winners.",
        "Verdict: explained. Held-out F1 0.410 (0.350 to 0.470) vs random 0.010, length/source 0.120, matched 0.050",
        "One of 3 that go together, led by 2:4 top",
    ]
    assert max(map(len, lay_out_explanation({**found, "text": "so long " * 30}, 60))) <= 60
    own = {"leader": {"layer": 2, "unit": 5, "pole": "top"}, "members": 1_200}
    assert lay_out_explanation({**found, "alike": own}, 90)[-1] == "One of 1,200 that go together, which it leads"


def test_what_is_not_known_is_left_out_or_said(tmp_path: Path) -> None:
    other = read(tmp_path, pole="bottom")
    assert other is not None
    nulls = dict.fromkeys((*F1, "random_f1"))
    assert lay_out_explanation({**other, **nulls, "verdict": "weak"}, 90) == [
        "another",
        "Verdict: weak",
        "Judge by the winners: nothing below was confirmed on held-out documents.",
    ]


def test_the_verdict_says_which_controls_the_interval_is_above() -> None:
    assert said_verdict({**ROW, "verdict": "nuisance", "nuisance_f1": 0.35, "matched_f1": None}) == (
        "nuisance. Held-out F1 0.410 (0.350 to 0.470): above a random set (0.010), but not surely above length and "
        "source alone (0.350); its best literal alone has 0.300"
    )
    assert said_verdict({**ROW, "verdict": "none", "literals": 0, "f1": 0.0, "f1_low": 0.0, "f1_high": 0.0}) == (
        "none: nothing was found that sets them apart. Held-out F1 0.000 (0.000 to 0.000): not surely above a random "
        "set (0.010), length and source alone (0.120) or a matched set (0.050); its best literal alone has 0.300"
    )
    unknown = {**ROW, "verdict": "weak", "f1_low": None, "f1_high": None, "single_f1": None}
    assert said_verdict({**unknown, "nuisance_f1": None, "matched_f1": None}) == (
        "weak: too few held-out winners, or held-out documents with winners. Held-out F1 0.410: not surely above a "
        "random set (0.010)"
    )


def test_literals_are_listed_model_by_model(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert found is not None
    lines = [line.split() for line in lay_out_terms(found, 90)]
    assert lines == [
        [],
        ["Literals", "of", "its", "winners", "weight", "winners", "others", "gain"],
        ["word:", "see", "2.000", "0.640", "0.0300", "0.250"],
        [],
        ["Literals", "of", "its", "whole", "range", "weight", "top", "10", "%", "others", "gain"],
        ["word:", "not", "the", "-0.500", "0.640", "0.0300", "0.250"],
    ]
    assert lay_out_terms({**found, "terms": []}, 90) == []
