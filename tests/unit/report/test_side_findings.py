"""Each side job's findings in sentences, from tables whose numbers are known."""

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ops.report.side_findings import side_findings
from ops.storage.store import Store

RATIO = {"n": 10, "std": 0.1}
AGAIN = {"low": 0.5, "high": 0.7}
GIVEN: dict[str, dict[str, list[dict[str, Any]]]] = {
    "explain": {
        "neurons": [{"layer": 1, "unit": i, "std": 0.0 if i == 5 else 1.0, "min": -3.0, "max": 3.0} for i in range(6)],
        "explanations": [
            {"layer": 1, "unit": i, "verdict": v}
            for i, v in enumerate(("explained", "explained", "nuisance", "none", "weak", "explained"))
        ],
        "explain/controls": [
            {"layer": layer, "basis": basis, "model": model, "measure": measure, "q50": q50}
            for layer, basis, model, measure, q50 in [
                (1, "neurons", "range", "r2_beyond", 0.05), (2, "neurons", "range", "r2_beyond", 0.07),
                (1, "rotated", "range", "r2_beyond", 0.25), (1, "neurons", "range", "r2", 0.9),
                (1, "neurons", "winners", "f1", 0.9),
            ]
        ],
    },
    "mixing": {
        "mixing/ratios": [
            {**RATIO, "layer": layer, "stage": stage, "token_class": name, "mean": mean}
            for layer, stage, name, mean in [
                (1, "attn", "all", 0.7), (2, "attn", "all", 0.9), (1, "attn_res", "all", 0.2),
                (1, "attn_res_ln", "all", 0.25), (2, "attn_res_ln", "all", 0.15), (2, "attn", "cls", 0.1),
            ]
        ]
    },
    "outputs": {
        "outputs/controls": [
            {"layer": layer, "basis": basis, "measure": measure, "n": n, "q50": q50, "beyond": beyond}
            for layer, basis, measure, n, q50, beyond in [
                (1, "units", "kurtosis", 300, 0.5, 0.05), (1, "random", "kurtosis", 300, 0.25, 0.05),
                (2, "units", "kurtosis", 100, 1.5, 0.45), (2, "random", "kurtosis", 300, 0.25, 0.05),
                (1, "units", "extreme", 300, 9.0, 1.0), (1, "random", "extreme", 300, 4.0, 0.05),
            ]
        ],
        "outputs/checks": [
            {"correlation": own, "shuffled": shuffled} for own, shuffled in [(0.9, 0.1), (0.5, None), (0.7, -0.3)]
        ],
    },
    "positions": {
        "positions/similarity": [
            {"layer": 1, "variant": "none", "reference": "default", "mean": 0.1},
            {"layer": 2, "variant": "none", "reference": "default", "mean": 0.75},
            {"layer": 2, "variant": "none", "reference": "random_pair", "mean": 0.25},
            {"layer": 2, "variant": "shuffled", "reference": "default", "mean": 0.9},
        ],
        "positions/perplexity": [{"variant": "default", "corpus": 30.0}, {"variant": "none", "corpus": 1234.0}],
    },
    "psi": {
        "psi/clusters": [
            {"layer": 1, "head": 0, "type": "noun", "tokens": ["a", "b"], "z_qkv": 2.0, "rank": 1},
            {"layer": 2, "head": 3, "type": "noun", "tokens": ["c"], "z_qkv": 9.5, "rank": 1},
            {"layer": 2, "head": 4, "type": "verb", "tokens": ["d"], "z_qkv": None, "rank": 1},
            {"layer": 2, "head": 4, "type": "verb", "tokens": ["e"], "z_qkv": 99.0, "rank": 2},
        ],
        "psi/agreement": [{"rand_index": 0.5}, {"rand_index": 0.25}],
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
        "meaning/masked_words": [
            {"property": "tag", "value": "NN", "n": 9, "first": 0.1, "first_low": 0.0, "first_high": 0.3},
            {"property": "all", "value": "all", "n": 40, "first": 0.35, "first_low": 0.3, "first_high": 0.4},
        ],
    },
    "finetune": {
        "finetune/epochs": [
            {"epoch": e, "test_accuracy": a, "majority_accuracy": 0.25, "n": 80} for e, a in ((2, 0.8), (1, 0.9))
        ]
    },
}  # fmt: skip
NUMBERS = {
    "explain": ["2 5 1 1", "1", "6 25"],
    "mixing": ["80 20 20", "1 25 2 15"],
    "positions": ["0.75 0.25", "30 1,234"],
    "outputs": ["15.0 400 5 0.75 0.25", "2 45.0 1 5.0", "3 0.70 -0.10"],
    "psi": ["3 2 9.5", "2 3", "0.38 1 0"],
    "meaning": ["1 60 50 95 50 70 12", "35 40 95 30 40"],
    "finetune": ["2 80 80 25"],
}
NAMES = {"psi": ("“c” (noun)", "of type noun"), "meaning": ("The space layer:1",)}


@pytest.mark.parametrize("job", list(GIVEN))
def test_a_side_job_s_findings_are_sentences_with_its_numbers(job: str, tmp_path: Path) -> None:
    for table, rows in GIVEN[job].items():
        (tmp_path / table).mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / table / "part-00000.parquet")
    said = side_findings(Store(str(tmp_path)), GIVEN[job], job)
    assert [" ".join(re.findall(r"-?\d[\d,.]*\b", sentence)) for sentence in said] == NUMBERS[job]
    assert all(sentence[0].isupper() or sentence[0].isdigit() for sentence in said)
    assert all(name in " ".join(said) for name in NAMES.get(job, ()))


def test_a_job_without_its_tables_or_with_those_of_an_earlier_version_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "finetune" / "epochs").mkdir(parents=True)
    pq.write_table(pa.table({"epoch": [1]}), tmp_path / "finetune" / "epochs" / "part-00000.parquet")
    assert side_findings(Store(str(tmp_path)), ["finetune/epochs"], "finetune") == []
    assert [side_findings(Store(str(tmp_path)), {}, job) for job in (*GIVEN, "compare")] == [[]] * 8
