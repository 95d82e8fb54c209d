import re
from typing import Any

from ops.facts.comparison import comparisons
from ops.facts.listing import lay_out_listings

Rows = list[dict[str, Any]]


def rotated(name: str, a: int, b: int, own: float, mean: float, high: float) -> dict[str, Any]:
    row = {"property": name, "layer_a": a, "layer_b": b, "correlation": own, "rotated_mean": mean}
    return row | {"rotated_high": high, "rotations": 24, "q_value": 0.04 if own > high else 0.9}


def ablated(unit: int, moved: float | None, own: float | None, p: float | None = 0.025) -> dict[str, Any]:
    row = {"layer": 1, "unit": unit, "property": "neurons:std", "moved": moved, "random": 0.125, "random_high": 0.25}
    row |= {"n_random": 39, "p_value": p, "own_moved": own, "layer_b": 2, "unit_b": 9, "moved_b": 0.5}
    return row | {"output": None, "output_random": None}


def compared(measure: str, share: float, low: float, high: float, layer: int | None = None) -> dict[str, Any]:
    row = {"table": "explanations", "measure": measure, "layer": layer, "n": 3_041, "mean": 0.2, "median": 0.125}
    row |= {"control_mean": 0.1, "control_median": 0.0625, "control_q95": 0.25}
    return row | {"share_above": share, "share_low": low, "share_high": high}


VERDICT = compared("verdict explained", 0, 0, 0) | {"share_above": None, "mean": 0.25}


def matched(threshold: float, share: float | None, layer: int | None = None) -> dict[str, Any]:
    row = {"layer": layer, "threshold": threshold, "n": 2_304, "share": share, "correlated": 0.75}
    return row | {"rotated": None if share is None else 0.25}


THRESHOLDS = [i / 10 for i in range(10)]

FOUND: dict[str, Rows] = {
    "compare/universal": [matched(t, 0.031 if t >= 0.5 else 0.625, layer) for t in THRESHOLDS for layer in (1, None)],
    "compare/runs": [
        compared("recall", 0.5, 0.25, 0.75),
        compared("f1", 0.61, 0.5, 0.75),
        compared("f1", 0.9, 0.8, 1.0, layer=1),
        VERDICT,
    ],
    "compare/rotated": [
        rotated("neurons:mean", 1, 2, 0.75, 0.5, 0.6),
        rotated("neurons:mean", 2, 3, 0.25, 0.5, 0.6),
        rotated("neurons:mean", 1, 3, 0.125, 0.25, 0.3),
    ],
    "compare/dimensions": [{"q_value": 0.01}, {"q_value": 0.5}],
    "compare/nearest": [
        {"reach": "within", "correlation": c, "correlation_of_rotated": 0.2, "correlation_of_shuffled": 0.1}
        | {"overlap": 0.05, "overlap_of_shuffled": 0.01}
        for c in (0.25, 0.75)
    ],
    "compare/group_quality": [
        {"layer": layer, "grouped": "neurons", "groups": 2, "silhouette": s, "silhouette_of_shuffled": None}
        | {"rand_index": 1.0, "rand_index_of_shuffled": 0.25}
        for layer, s in ((0, 0.9), (1, 0.25), (2, None))
    ],
    "compare/diversity": [
        {"layer": 1, "clusters": 10, "sse": 40.0, "sse_of_uniform": 80.0, "sse_per_point": 0.125},
    ],
    "compare/shift_layers": [
        {"text_set": name, "layer": layer, "n": 1234, "manhattan": m, "euclidean": 1.0}
        | {"manhattan_low": m - 1, "manhattan_high": m + 1, "euclidean_low": 0.5, "euclidean_high": 1.5}
        for name, m in (("news", 5.0), ("tweets", 7.0))
        for layer in (0, 1)
    ],
    "compare/ablation": [ablated(3, 0.75, 2.0), ablated(3, 0.75, 2.0), ablated(4, 0.0625, 0.25, 0.9)],
    "compare/shift_neurons": [{"layer": 1, "unit": 7, "shift": 0.5, "jaccard": 0.25}],
}


def lines(found: dict[str, Rows], width: int = 110) -> list[str]:
    return lay_out_listings(comparisons(found, 5), width).splitlines()


def values(start: str, found: dict[str, Rows] = FOUND) -> list[str]:
    (line,) = (line for line in lines(found) if line.strip().startswith(start))
    return line.split()


def test_each_finding_is_shown_next_to_its_null() -> None:
    assert values("mean activation") == ["mean", "activation", "0.50", "0.50", "0.12", "0.25"]
    assert values("within") == ["within", "0.500", "0.200", "0.100", "0.050", "0.010"]
    assert values("neurons  ") == ["neurons", "2", "0.250", "-", "1.000", "0.250"]
    assert values("1 ") == ["1", "0.125", "(0.50)"]
    assert values("1:3") == ["1:3", "0.750", "0.125", "2.000", "0.500", "neurons:std"]
    said = "\n".join(lines(FOUND))
    for counted in (
        "Above every rotated basis: 1 of 3 correlations (0.1 by chance)",
        "Against rotated bases: 1 of 3 have q < 0.05",
        "Against permuted units: 1 of 2 have q < 0.05",
        "Above all of their random neurons: 1 of 2 neurons (0.1 by chance)",
        "moves furthest for 1 of 2 neurons",
        "moved most: 1:7 0.5",
        "mean Jaccard index 0.250",
    ):
        assert counted in said
    assert "classifier" not in said
    rows = [ablated(unit, None, None) | {"output": unit / 8, "output_random": 0.0625} for unit in (1, 2)]
    said = " ".join(lines({"compare/ablation": [*FOUND["compare/ablation"], *rows]}, 200))
    assert "1:2 moves the classifier's output most: total variation 0.25 (random: 0.0625)." in said


def test_the_scores_of_two_runs_come_first_and_are_called_what_they_are() -> None:
    assert lines(FOUND)[0].startswith("Of 3,041 neurons and poles, 61 % (50 to 75 %) are above")
    assert values("F1") == ["F1", "3,041", "0.125", "0.062", "0.250", "61.0", "%", "50", "to", "75", "%"]
    wide = compared("f1_beyond_nuisance", 1.0, 0.8625, 1.0) | {"n": 18_432, "median": -0.125}
    assert max(map(len, lines({"compare/runs": [wide]}, 80))) <= 80
    assert "..." not in "".join(lines({"compare/runs": [wide]}, 80))
    assert "explained 25 % (10 %)" in "\n".join(lines(FOUND))
    similar = lines({"compare/runs": [compared("f1", 0.0625, 0.04, 0.08)]}, 200)[0]
    assert similar.startswith("No better than the control: of 3,041 neurons and poles, 6.25 % (4 to 8 %)")
    worse = lines({"compare/runs": [compared("f1", 0.01, 0.0, 0.02)]}, 200)[0]
    assert worse.startswith("Worse than the control: ")


def test_matches_in_another_run_are_shown_next_to_rotated_layers() -> None:
    said = " ".join(lines({"compare/universal": FOUND["compare/universal"]}))
    assert re.findall(r"\d[\d,.]*\b", said)[:4] == ["2,304", "3.1", "0.5", "62.5"]
    assert values("0.5") == ["0.5", "0.031", "0.750", "0.250"]
    features = lines({"compare/universal": [matched(t, None) for t in THRESHOLDS]})
    assert " ".join(features).startswith("Of 2,304 units, 75 % have a match in the other run with an absolute")
    assert features[-1].split() == ["0.9", "-", "0.750", "-"]


def test_parts_that_are_not_done_are_left_out_and_lines_fit() -> None:
    assert lay_out_listings(comparisons({}, 5), 80) == ""
    assert len(lines({"compare/diversity": FOUND["compare/diversity"]})) == 3
    assert all(len(line) <= 60 for line in lines(FOUND, 60))


def test_the_text_set_that_moved_most_comes_first() -> None:
    shifted = [line.split()[:4] for line in lines(FOUND) if line.strip().startswith(("tweets", "news"))]
    assert shifted == [["tweets", "1,234", "7", "(6"], ["news", "1,234", "5", "(4"]]
