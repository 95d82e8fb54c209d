from typing import Any

import pytest

from ops.show.neuron import lay_out_neuron

NEURON = {"layer": 3, "unit": 17, "n": 5000, "mean": 0.1, "std": 0.25, "min": -1.0, "max": 2.0, "top_mean": 1.5,
          "top_threshold": 1.25, "bottom_mean": -0.5, "bottom_threshold": -0.4}  # fmt: skip
WINNERS = [
    {"rank": r, "activation": 2.0 - r / 8, "text": f"sentence {r} " + "x" * 100, "dataset": "pydocs"} for r in (1, 2, 3)
]


def pattern(kind: str, text: str, support: int = 20, docs: int = 15, **more: Any) -> dict[str, Any]:
    row = {"kind": kind, "pattern": text, "support": support, "docs": docs, "share": 0.2, "baseline_share": 0.01}
    return {**row, "lift": 20.5, "g2": 101.26, **more}


def value(property_: str, name: str, share: float = 0.5, count: int = 1234, **more: Any) -> dict[str, Any]:
    row = {"property": property_, "value": name, "count": count, "share": share, "baseline_share": 0.25, "lift": 2.0}
    return {**row, "g2": -3.0, **more}


def shown(**more: Any) -> list[str]:
    given: dict[str, Any] = {"patterns": [], "profiles": [], "means": [], "rows": 2, "width": 90, **more}
    return lay_out_neuron(NEURON, given.pop("pole", "top"), given.pop("winners", WINNERS), **given).splitlines()


def line(lines: list[str], start: str) -> str:
    return next(text for text in lines if text.strip().startswith(start))


def test_the_head_and_as_many_sentences_as_asked_for() -> None:
    lines = shown()
    assert lines[:3] == [
        "Neuron 3:17, highest activations",
        "5,000 sentences scored: mean 0.1000, standard deviation 0.2500, from -1.0000 to 2.0000",
        "3 winners, mean 1.5000, the last one 1.2500",
    ]
    assert lines[5].startswith("    1    1.8750  sentence 1 xxx")
    assert lines[5].endswith("...  [pydocs]")
    assert len(lines) == 7
    assert max(map(len, lines)) <= 90


def test_the_other_pole() -> None:
    lines = shown(pole="bottom")
    assert lines[0] == "Neuron 3:17, lowest activations"
    assert lines[2] == "3 winners, mean -0.5000, the last one -0.4000"


def test_tables_stand_under_their_titles_in_order() -> None:
    patterns = [pattern(k, f"{k} pattern") for k in ("subtree", "tag", "word")]
    profiles = [value("noun", "cat"), value("dataset", "imdb"), value("author", "ann"), value("tag_class", "verb")]
    lines = shown(patterns=patterns, profiles=profiles)
    titles = [text.split("  ")[0] for text in lines[7:] if text and not text.startswith(" ")]
    assert titles == ["Nouns", "Word patterns", "Part-of-speech patterns", "Subtrees", "Dataset", "author"]
    assert line(lines, "word pattern").split() == ["word", "pattern", "20", "0.200", "0.0100", "20.50", "101.3"]
    assert line(lines, "imdb").split() == ["imdb", "1,234", "0.500", "0.2500", "2.00", "-3.0"]
    assert not any("tag_class" in text for text in lines)


def test_tags_are_by_share() -> None:
    lines = shown(profiles=[value("tag", "NN", 0.1), value("tag", "DT", 0.6), value("tag", "JJ", 0.3)])
    assert [text.split()[0] for text in lines[-2:]] == ["DT", "JJ"]


def test_what_has_no_baseline_is_a_dash() -> None:
    lines = shown(patterns=[pattern("word", "a b", baseline_share=None, lift=None, g2=0.0)])
    assert line(lines, "a b").split() == ["a", "b", "20", "0.200", "-", "-", "0.0"]
    mean = {"property": "words_per_sentence", "mean": 7.25, "baseline_mean": None}
    assert shown(means=[mean])[-1].split() == ["words", "per", "sentence", "7.25", "-"]


@pytest.mark.parametrize(("docs", "starred"), [(5, True), (6, False)])
def test_patterns_of_few_documents_are_marked(docs: int, starred: bool) -> None:
    lines = shown(patterns=[pattern("word", "a b", 20, docs)])
    assert ("a b *" in line(lines, "a b")) == starred
    assert (lines[-1] == "  * most of these come from few documents") == starred


def test_a_long_pattern_keeps_its_mark() -> None:
    lines = shown(patterns=[pattern("subtree", "(NP (DT) (NN)) " * 9, 20, 1)])
    assert "*" in line(lines, "(NP")


def test_long_names_are_cut_to_the_width() -> None:
    lines = shown(patterns=[pattern("subtree", "(NP (DT) (NN)) " * 9)], profiles=[value("k" * 90, "v" * 200)])
    assert max(map(len, lines)) <= 90
    assert line(lines, "(NP").count("...") == 1


def test_values_that_no_winner_has_are_left_out() -> None:
    assert not any("news" in text for text in shown(profiles=[value("dataset", "news", 0.0, 0)]))
