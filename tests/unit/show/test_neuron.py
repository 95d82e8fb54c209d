from typing import Any

import pytest

from ops.show.neuron import lay_out_neuron

NEURON = {"n": 5000, "mean": 0.1, "std": 0.25, "min": -1.0, "max": 2.0, "top_mean": 1.5,
          "top_threshold": 1.25, "bottom_mean": -0.5, "bottom_threshold": -0.4}  # fmt: skip
SCORE = {"auc": 0.912, "auc_low": 0.85, "auc_high": 0.961, "matched_auc": 0.61, "matched_low": 0.5, "matched_high": 0.7}
WORDS = {"property": "words_per_sentence", "mean": 7.25, "baseline_mean": 15.1}
MEASURES = {"share": 0.2, "baseline_share": 0.01, "lift": 20.5, "lift_low": 9.04, "lift_high": 46.5, "g2": 101.26}
MEASURES |= {"q_value": 1.4e-9, "docs": 15}
WINNERS = [
    {"rank": r, "activation": 2.0 - r / 8, "text": f"sentence {r} " + "x" * 100, "dataset": "pydocs"}
    for r in range(1, 9)
]


def listed(name: str, text: str, **more: Any) -> dict[str, Any]:
    return {**MEASURES, "name": name, "text": text, "count": 20, "example": None, **more}


def shown(rows: int | None = None, width: int = 110, **more: Any) -> list[str]:
    facts: dict[str, Any] = {"layer": 3, "unit": 17, "pole": "top", "n_winners": 100, "neuron": NEURON, "score": SCORE}
    facts |= {
        "means": [WORDS],
        "dataset": {"value": "imdb", "share": 0.875, "baseline_share": 0.25},
        "winners": WINNERS,
    }
    facts |= {"prefers": {kind: [] for kind in ("word", "tag", "subtree", "value")} | more.pop("prefers", {})}
    return lay_out_neuron({**facts, "avoids": [], **more}, rows, width).splitlines()


def line(lines: list[str], start: str) -> str:
    return next(text for text in lines if text.strip().startswith(start))


def test_what_decides_comes_first() -> None:
    assert shown()[:4] == [
        "Neuron 3:17, highest activations: 100 winners",
        "Held-out AUC 0.912 (0.850 to 0.961); matched set 0.610 (0.500 to 0.700)",
        "7.2 words a sentence (baseline 15.1); data set imdb 88% (baseline 25%)",
        "Activations 1.2500 and beyond, mean 1.5000; of all 5,000 sentences -1.0000 to 2.0000, mean 0.1000, "
        "standard deviation 0.2500",
    ]


def test_an_explanation_comes_before_everything_else() -> None:
    alike = {"leader": {"layer": 3, "unit": 17, "pole": "top"}, "members": 1}
    row = {"layer": 3, "unit": 17, "pole": "top", "text": "Sentences with *see*: 64 % of its winners.", "alike": alike}
    row |= {"verdict": "explained", "f1": 0.41, "f1_low": 0.35, "f1_high": 0.47, "single_f1": 0.3, "nuisance_f1": 0.12}
    term = {"model": "winners", "kind": "word", "pattern": "see", "negated": False, "weight": 2.0, "share": 0.6}
    row |= {"matched_f1": 0.05, "random_f1": 0.01, "terms": [{**term, "baseline_share": 0.01, "gain": 0.3}]}
    lines = shown(explanation=row, patterns=[], profiles=[])
    assert lines[:4] == [
        "Neuron 3:17, highest activations: 100 winners",
        "Sentences with *see*: 64 % of its winners.",
        "Verdict: explained; held-out F1 0.410 (0.350 to 0.470); best literal 0.300, "
        "length and source 0.120, matche...",
        shown()[1],
    ]
    assert line(lines, "word: see").split() == ["word:", "see", "2.000", "0.600", "0.0100", "0.300"]
    assert shown(explanation=None) == shown()


def test_the_excess_is_said_and_why_a_unit_is_silent() -> None:
    excess = {"auc_excess": 0.302, "auc_excess_low": 0.21, "auc_excess_high": 0.394}
    assert shown(score={**SCORE, **excess})[1].endswith("0.700); excess +0.302 (+0.210 to +0.394)")
    few = dict.fromkeys(excess)
    assert shown(score={**SCORE, **few})[1].endswith("0.700); excess not known (fewer than 10 test documents)")
    assert shown(is_silent=True)[2].startswith("This unit is silent: its standard deviation is below a millionth")
    assert not any("silent" in text for text in shown())


def test_a_neuron_that_was_not_mined_is_told_as_that() -> None:
    assert shown(score=None, is_mined=False)[1].startswith("Not mined: jobs.mine was run with --units")
    assert not any("Not mined" in text for text in shown(is_mined=True))


def test_what_is_not_known_is_left_out_or_said() -> None:
    assert not any("AUC" in text for text in shown(score=None))
    assert "matched set not known" in shown(score={**SCORE, "matched_auc": None})[1]
    lines = shown(means=[{**WORDS, "baseline_mean": None}], dataset=None)
    assert lines[2] == "7.2 words a sentence (baseline not known)"
    assert shown(means=[], dataset=None)[2].startswith("Activations")


def test_the_other_pole() -> None:
    lines = shown(pole="bottom")
    assert lines[0] == "Neuron 3:17, lowest activations: 100 winners"
    assert lines[3].startswith("Activations -0.4000 and beyond, mean -0.5000;")


@pytest.mark.parametrize(("rows", "expected"), [(None, 5), (2, 2), (8, 8)])
def test_as_many_winners_as_asked_for(rows: int | None, expected: int) -> None:
    lines = [text for text in shown(rows, width=90) if "sentence " in text and "x" in text]
    assert len(lines) == expected
    assert lines[0].startswith("    1    1.8750  sentence 1 xxx")
    assert lines[0].endswith("...  [pydocs]")
    assert max(map(len, lines)) == 90


def test_what_is_preferred_and_avoided_stands_apart() -> None:
    prefers = {"word": [listed("word", "a b")], "value": [listed("topic", "space", docs=3)]}
    lines = shown(prefers=prefers, avoids=[listed("tag", "NN NN", g2=-5.0)])
    titles = [text.split("   ")[0] for text in lines[5:] if text and not text.startswith(" ")]
    assert titles == [
        "Winners",
        "They prefer: words in order",
        "Properties",
        "They avoid",
    ]
    assert line(lines, "a b").split() == [
        "a",
        "b",
        "20",
        "0.200",
        "0.0100",
        "20.5",
        "(9.04",
        "to",
        "46.5)",
        "1e-09",
        "15",
    ]
    assert line(lines, "topic: space *").split()[-1] == "3"
    assert line(lines, "* most of these").strip() == "* most of these come from few documents"
    assert not any("(of" in text for text in lines)


def test_a_key_that_few_winners_have_is_marked() -> None:
    lines = shown(
        prefers={"value": [listed("author", "shakespeare", count=8, n=20, docs=2), listed("topic", "space", n=100)]}
    )
    assert line(lines, "author").startswith("  author: shakespeare (of 20) *  ")
    assert line(lines, "topic").startswith("  topic: space  ")
    assert line(lines, "(of N)").strip().startswith("(of N) so many winners have the key")


def test_an_example_stands_below_its_pattern_with_the_match_marked() -> None:
    text = "x" * 200 + " more details"
    examples = [{"text": "See more or less.", "spans": [(4, 8), (12, 16)]}, {"text": text, "spans": [(201, 213)]}]
    prefers = {"word": [listed("word", f"p{i}", example=example) for i, example in enumerate(examples)]}
    lines = shown(prefers=prefers)
    place = lines.index(line(lines, "p0"))
    assert lines[place + 1] == "      See [more] or [less]."
    assert lines[place + 3].startswith("      ...xxx")
    assert lines[place + 3].endswith(" [more details]")
    assert max(map(len, lines[place:])) <= 110


def test_nothing_that_stands_out_is_said() -> None:
    assert shown()[-1] == "Nothing stands out (no pattern or value with q < 0.05 and lift > 1)"


def test_a_screen_is_enough_and_rows_ask_for_more() -> None:
    some = {
        kind: [listed(kind, f"{kind} {i}", example={"text": "t", "spans": []}) for i in range(9)]
        for kind in ("word", "tag", "subtree")
    }
    some["value"] = [listed("topic", f"t{i}") for i in range(9)]
    many = [listed("word", f"w{i}") for i in range(9)]
    assert len(shown(prefers=some, avoids=many)) <= 48
    assert sum("topic: t" in text for text in shown(9, prefers=some, avoids=many)) == 9


def test_long_texts_are_cut_to_the_width() -> None:
    prefers = {"subtree": [listed("subtree", "(NP (DT) (NN)) " * 9, docs=1)], "value": [listed("k" * 90, "v" * 200)]}
    lines = shown(width=110, prefers=prefers)
    assert max(map(len, lines[4:])) <= 110
    assert "... *" in line(lines, "(NP")


def test_everything_is_listed_where_it_was_asked_for() -> None:
    measured = {"share": 0.5, "baseline_share": None, "lift": None, "g2": 0.0, "q_value": None, "docs": 2}
    patterns = [{**measured, "kind": kind, "pattern": f"{kind} p", "support": 7} for kind in ("subtree", "tag", "word")]
    values = [
        ("tag", "NN", 0.1),
        ("tag", "DT", 0.6),
        ("author", "ann", 0.5),
        ("dataset", "imdb", 0.5),
        ("noun", "cat", 0.2),
    ]
    profiles = [{**measured, "property": p, "value": v, "share": s, "count": 7} for p, v, s in values]
    lines = shown(patterns=patterns, profiles=[*profiles, {**profiles[0], "value": "XX", "count": 0}])
    lines = lines[lines.index("All that was mined and counted, by G2") + 1 :]
    titles = [text.split("  ")[0] for text in lines if text and not text.startswith(" ")]
    assert titles == [
        "Word patterns",
        "Part-of-speech patterns",
        "Subtrees",
        "Data sets",
        "Nouns",
        "Tags, by share of the tokens",
        "author",
        "Means",
    ]
    assert line(lines, "word p").split() == ["word", "p", "7", "0.500", "-", "-", "0.0", "-", "2"]
    assert lines.index(line(lines, "DT")) < lines.index(line(lines, "NN"))
    assert not any("XX" in text for text in lines)
    assert lines[-1].split() == ["words", "per", "sentence", "7.25", "15.10"]


def test_peaks_are_marked_and_listed_where_there_are_any() -> None:
    def peak(name: str, value: str, g2: float) -> dict[str, Any]:
        row = {"property": name, "value": value, "count": 12, "n": 20, "share": 0.6, "baseline_share": 0.0325}
        return {**row, "lift": 17.25, "g2": g2, "rank": 1}

    winners = [
        {**WINNERS[0], "text": "x" * 200 + " snow falls", "peak": {"span": (201, 205)}},
        {**WINNERS[1], "peak": None},
    ]
    peaks = [peak("peak_tag", "NN", 8.5), peak("peak_word", "snow", 44.04), peak("peak_word", "the", -2.0)]
    lines = shown(winners=winners, peaks=peaks)
    assert "[snow] falls" in line(lines, "1 ")
    assert len(line(lines, "1 ")) <= 110
    title = next(i for i, text in enumerate(lines) if text.startswith("They peak"))
    assert lines[title].split()[-6:] == ["count", "share", "in", "them", "lift", "G2"]
    assert lines[title + 1].split() == ["snow", "12", "0.600", "0.0325", "17.25", "44.0"]
    assert lines[title + 2 : title + 4] == [
        "Parts of speech",
        lines[title + 1].replace("snow", "NN  ").replace("44.0", " 8.5"),
    ]
    assert not any(text.startswith("They peak") for text in shown())


def test_values_of_properties_that_agree_share_a_line() -> None:
    lines = shown(prefers={"value": [listed("dataset", "books", same_as=["domain"])]})
    assert line(lines, "dataset, domain: books")


def test_very_small_activations_are_not_shown_as_nothing() -> None:
    tiny = {name: own * 1e-8 if name != "n" else own for name, own in NEURON.items()}
    lines = shown(neuron=tiny, winners=[{**WINNERS[0], "activation": 1.5e-8}])
    assert lines[3].startswith(
        "Activations 1.25e-08 and beyond, mean 1.50e-08; of all 5,000 sentences -1.00e-08 to 2.00e"
    )
    assert "1.50e-08" in line(lines, "1  ")
