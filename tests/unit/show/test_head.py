from typing import Any

from ops.show.listing import lay_out_listings
from ops.show.side_jobs import head_listings

HEAD_ROW: dict[str, Any] = {"type": "Numbers", "tokens": ["1873", "1878"], "n": 32, "rank": 1}
HEAD_ROW |= {f"{kind}_{p}": 1.0 for kind in ("psi", "z", "relative") for p in ("q", "k", "v", "qkv")}


def test_both_names_of_the_head_and_its_clusters() -> None:
    rows = [{**HEAD_ROW, "psi_qkv": 3.74, "z_qkv": 13.92}, {**HEAD_ROW, "rank": 2, "z_qkv": None, "tokens": ["a"] * 90}]
    text = lay_out_listings(head_listings(4, 2, rows, [], 10), 100)
    assert "Head 2 of layer 4 (L3-H2" in text
    first, second = (line for line in text.splitlines() if "Numbers" in line)
    assert first.split() == ["1", "3.74", "13.9", "1.00", "1.00", "1.00", "1.00", "32", "Numbers", "1873", "1878"]
    assert second.split()[2] == "-"
    assert second.endswith("...")
    assert max(len(line) for line in (first, second)) <= 100
    assert "over the corpus" not in text


def test_tokens_over_the_corpus_and_the_number_of_lines() -> None:
    token = {"token": "may", "n": 1200, "psi_qkv_mean": 2.5, "psi_qkv_std": 0.25}
    text = lay_out_listings(head_listings(1, 0, [HEAD_ROW] * 9, [token] * 9, 3), 100)
    assert text.count("1873") == 3
    assert [line.split() for line in text.splitlines() if line.endswith("  may")] == [
        ["2.50", "0.25", "1,200", "may"]
    ] * 3
