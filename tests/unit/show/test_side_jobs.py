"""What show prints of side jobs: a head, mixing ratios, positions and a word."""

from typing import Any

from ops.facts.listing import lay_out_listings
from ops.show.side_jobs import head_listings, mixing_ratios, position_listings, word_listings

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


def test_a_row_has_the_ratios_of_a_stage_and_layer_by_class_of_tokens() -> None:
    rows = [("attn", 1, "all", 0.875), ("attn", 1, "sep", 0.75), ("attn_res", 1, "all", 0.25), ("attn", 2, "all", 0.5)]
    names = ("stage", "layer", "token_class", "mean")
    ratios = mixing_ratios([dict(zip(names, row, strict=True)) | {"n": 1_200} for row in rows])
    lines = lay_out_listings([ratios], 110).splitlines()
    assert lines[1].split() == ["stage", "layer", "all", "sep"]
    assert [line.split()[-3:] for line in lines[2:5]] == [
        ["1", "0.875", "0.750"],
        ["2", "0.500", "-"],
        ["1", "0.250", "-"],
    ]
    assert "Tokens: all 1,200, sep 1,200." in lines[5]


def row(variant: str, layer: int, reference: str, mean: float, n: int = 1_234) -> dict[str, object]:
    return {"model": "m", "variant": variant, "layer": layer, "reference": reference, "mean": mean, "n": n}


def test_a_line_has_its_variant_s_references() -> None:
    similarity = [
        row("none", 2, "default", 0.77025),
        row("none", 2, "default_centred", 0.5),
        row("none", 2, "random_pair", 0.25, 99),
        row("none", 2, "gaussian", -0.00125),
        row("default", 2, "random_pair", 0.3),
    ]
    perplexity = [{"variant": "none", "corpus": 712_014.0, "mean": 5.0, "token_mean": 6.0, "n": 817}]
    labels = [
        {"label": "mood", "features": f, "accuracy": a, "low": 0.1, "high": 0.9, "n": 30, "splits": 20, "std": 0.05}
        | {"difference": d, "difference_low": d and -0.2, "difference_high": d and 0.1}
        for f, a, d in (("tokens", 0.25, -0.05), ("default", 0.5, None))
    ]
    said = lay_out_listings(position_listings(similarity, perplexity, labels, ["default", "none"]), 120)
    lines = [line.split() for line in said.splitlines()]
    assert ["none", "2", "0.7702", "0.5000", "0.2500", "-", "-0.0013", "1,234"] in lines
    assert ["default", "2", "-", "-", "0.3000", "-", "-", "-"] in lines
    assert ["none", "7.12e+05", "5", "6", "817"] in lines
    assert lines[-2:] == [
        ["default", "50.0", "(10.0", "to", "90.0)", "5.0", "-", "-"],
        ["tokens", "25.0", "(10.0", "to", "90.0)", "5.0", "-5.0", "(-20.0", "to", "10.0)"],
    ]
    assert all(len(line) <= 120 for line in said.splitlines())
    # An encoder has neither perplexities nor labels.
    said = lay_out_listings(position_listings([row("none", 1, "default", 0.5)], [], [], ["default", "none"]), 120)
    assert "Perplexity" not in said
    assert "Accuracy" not in said


def test_contexts_and_the_neighbours_of_every_space() -> None:
    near = [{"rank": i + 1, "other": f"o{i}", "cosine": 0.9 - i / 10, "inner": 12.5} for i in range(4)]
    contexts = [{"context": "yellow" * 30, "count": 1_234, "ppmi": 3.217}] * 4
    facts = {"word": "banana", "count": 5_678, "n_contexts": 40, "contexts": contexts}
    text = lay_out_listings(word_listings({**facts, "neighbours": {"counts": near, "layer:1": near[:1]}}, 3), 60)
    lines = text.splitlines()
    assert lines[0] == "banana: 5,678 occurrences, 40 context words near it"
    assert [line.split()[:2] for line in lines[2:5]] == [["3.22", "1,234"]] * 3
    assert max(map(len, lines)) <= 60
    assert [line.split()[-1] for line in lines if line.startswith("Nearest in")] == ["counts", "layer:1"]
    assert [line.split() for line in lines if line.endswith("o1")] == [["0.800", "12.5", "o1"]]
    facts = {"word": "hm", "count": 2, "n_contexts": 0, "contexts": [], "neighbours": {}}
    assert lay_out_listings(word_listings(facts, 5), 80).splitlines()[-1].split() == ["-", "-", "none"]
