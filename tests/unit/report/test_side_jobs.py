"""Each side job's finding in one sentence, from tables whose numbers are known."""

import re
from pathlib import Path
from typing import Any

import pytest

from ops.report.side_jobs import SIDE_JOBS, finding
from ops.storage.store import Store
from tests.unit.facts.made_up_rows import write_tables

AGAIN = {"low": 0.5, "high": 0.7}
GIVEN: dict[str, dict[str, list[dict[str, Any]]]] = {
    "explain": {
        "neurons": [{"layer": 1, "unit": i, "is_silent": i == 5} for i in range(6)],
        "explanations": [
            {"layer": 1, "unit": i, "verdict": v}
            for i, v in enumerate(("rule", "rule", "source", "none", "weak", "rule"))
        ],
    },
    "mixing": {
        "mixing/ratios": [
            {"layer": layer, "stage": stage, "token_class": name, "mean": mean}
            for layer, stage, name, mean in [
                (1, "attn", "all", 0.7), (2, "attn", "all", 0.9), (1, "attn_res", "all", 0.2),
                (1, "attn_res_ln", "all", 0.2), (2, "attn_res_ln", "all", 0.1), (2, "attn", "cls", 0.1),
            ]
        ]
    },
    "outputs": {
        "outputs/controls": [
            {"layer": layer, "basis": basis, "measure": "kurtosis", "n": n, "q50": q50, "beyond": beyond}
            for layer, basis, n, q50, beyond in [
                (1, "units", 300, 0.5, 0.05), (1, "random", 300, 0.25, 0.05),
                (2, "units", 100, 1.5, 0.45), (2, "random", 300, 0.25, 0.05),
            ]
        ],
    },
    "positions": {
        "positions/similarity": [
            {"layer": 1, "variant": "none", "reference": "default", "mean": 0.1},
            {"layer": 2, "variant": "none", "reference": "default", "mean": 0.75},
            {"layer": 2, "variant": "none", "reference": "random_pair", "mean": 0.25},
            {"layer": 2, "variant": "shuffled", "reference": "default", "mean": 0.9},
        ],
    },
    "psi": {
        "psi/clusters": [
            {"layer": 1, "head": 0, "type": "noun", "tokens": ["a", "b"], "z_qkv": 2.0, "rank": 1},
            {"layer": 2, "head": 3, "type": "noun", "tokens": ["c"], "z_qkv": 9.5, "rank": 1},
            {"layer": 2, "head": 4, "type": "verb", "tokens": ["d"], "z_qkv": None, "rank": 1},
            {"layer": 2, "head": 4, "type": "verb", "tokens": ["e"], "z_qkv": 99.0, "rank": 2},
        ],
    },
    "meaning": {
        "meaning/analogies": [
            {**AGAIN, "space": space, "category": name, "rule": rule, "excluded": out, "n_known": 50, "accuracy": a}
            for space, name, rule, out, a in [
                ("counts", "all", "add", True, 0.3), ("layer:1", "all", "mul", True, 0.6),
                ("layer:1", "all", "nearest_c", True, 0.125), ("layer:1", "capitals", "add", True, 0.9),
                ("layer:1", "all", "add", False, 0.95), ("embedding", "all", "add", True, None),
            ]
        ],
    },
    "finetune": {
        "finetune/epochs": [
            {"epoch": e, "test_accuracy": a, "majority_accuracy": 0.25, "n": 80} for e, a in ((2, 0.8), (1, 0.9))
        ]
    },
}  # fmt: skip
SENTENCES = [
    {**AGAIN, "space": space, "against": against, "auc": auc}
    for space, against, auc in [
        ("layer:1", "same_document", 0.6), ("shuffled", "same_document", 0.9),
        ("layer:2", "other_document", 0.95),
    ]
]  # fmt: skip
TRANSLATIONS = [
    {"space": f"layer:{n}", "language": "en", "other": "de", "reciprocal_rank": n / 4, "chance": 0.1} for n in (1, 3, 2)
]
NUMBERS = {
    "explain": ["2", "5", "0", "1", "1", "0", "1"],
    "mixing": ["15", "20", "80"],
    "positions": ["0.75", "0.25"],
    "outputs": ["15.0", "400", "5", "0.75", "0.25"],
    "psi": ["3", "2", "9.5"],
    "meaning": ["1", "60", "50", "95", "50", "70", "12"],
    "finetune": ["2", "80", "80", "25"],
}


def numbers(sentence: str) -> list[str]:
    assert sentence[0].isupper() or sentence[0].isdigit()
    return re.findall(r"-?\d[\d,.]*\b", sentence)


@pytest.mark.parametrize("job", list(GIVEN))
def test_a_side_job_s_finding_is_a_sentence_with_its_numbers(job: str, tmp_path: Path) -> None:
    assert numbers(finding(write_tables(tmp_path, GIVEN[job]), GIVEN[job], job)) == NUMBERS[job]


def test_a_model_with_layer_norm_first_mixes_without_a_stage_after_it(tmp_path: Path) -> None:
    rows = [row for row in GIVEN["mixing"]["mixing/ratios"] if row["stage"] != "attn_res_ln"]
    assert numbers(finding(write_tables(tmp_path, {"mixing/ratios": rows}), ["mixing/ratios"], "mixing")) == [
        "20",
        "80",
    ]


def test_the_finding_is_that_of_the_first_table_that_has_one(tmp_path: Path) -> None:
    unknown = [row | {"accuracy": None} for row in GIVEN["meaning"]["meaning/analogies"]]
    tables = {
        "meaning/analogies": unknown, "meaning/sentences": SENTENCES, "meaning/translations": TRANSLATIONS,
    }  # fmt: skip
    store = write_tables(tmp_path, tables)
    assert numbers(finding(store, tables, "meaning")) == ["60", "1", "95", "50", "70", "50"]
    assert numbers(finding(store, ["meaning/translations"], "meaning")) == ["3", "0.75", "0.1"]
    assert [finding(Store(str(tmp_path)), (), job) for job in SIDE_JOBS] == [""] * len(SIDE_JOBS)
