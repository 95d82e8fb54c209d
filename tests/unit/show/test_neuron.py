import re
from typing import Any

import pytest

from ops.facts.neuron_facts import first_without_hubs, where_it_holds
from ops.facts.verdicts import CAUTION, evidence, said_lifts
from ops.show.neuron import lay_out_neuron
from tests.unit.facts.made_up_audit import audited, literal
from tests.unit.facts.made_up_rows import explained, neuron_facts, term

NEURON = {"n": 5000, "mean": 0.1, "std": 0.25, "min": -1.0, "max": 2.0, "top_mean": 1.5,
          "top_threshold": 1.25, "bottom_mean": -0.5, "bottom_threshold": -0.4}  # fmt: skip
SCORE = {"auc": 0.912, "auc_low": 0.85, "auc_high": 0.961, "matched_auc": 0.61, "matched_low": 0.5, "matched_high": 0.7}
SCORE |= {"auc_excess": 0.302, "auc_excess_low": 0.21, "auc_excess_high": 0.394}
WORDS = {"property": "words_per_sentence", "mean": 7.25, "baseline_mean": 15.1}
MEASURES = {"share": 0.2, "baseline_share": 0.01, "lift": 20.5, "lift_low": 9.04, "lift_high": 46.5, "g2": 101.26}
MEASURES |= {"q_value": 1.4e-9, "docs": 15}
WINNERS = [
    {"rank": r, "activation": 2.0 - r / 8, "text": f"sentence {r} " + "x" * 100, "dataset": "pydocs", "wins": r}
    | {"is_hub": False}
    for r in range(1, 13)
]


def found(name: str, text: str, **more: Any) -> dict[str, Any]:
    kind = name if name in ("word", "tag", "subtree", "mark", "word_class") else "value"
    row = {**MEASURES, "kind": kind, "name": name, "text": text, "count": 20, "n": 100, "example": None}
    return {**row, "variants": [], "same_as": [], "items": [text], **more}


def shown(rows: int | None = None, width: int = 110, everything: bool = False, **more: Any) -> list[str]:
    values: dict[str, Any] = {"neuron": NEURON, "score": SCORE, "means": [WORDS], "winners": WINNERS}
    values |= {"dataset": {"value": "imdb", "share": 0.875, "baseline_share": 0.25}}
    return lay_out_neuron(neuron_facts(**values | more), everything, rows, width).splitlines()


def line(lines: list[str], start: str) -> str:
    return next(text for text in lines if text.strip().startswith(start))


def test_what_decides_comes_first_and_the_activations_last() -> None:
    lines = shown(other_pole={"pole": "bottom", "text": "Sentences with *a*: 12 % of its winners."})
    assert lines[:6] == [
        "Neuron 3:17 top",
        "Its winners: 88 % are from imdb (25 % of other sentences); 7.2 words a sentence (corpus 15.1)",
        "",
        "Nothing sets them apart (no pattern or value with q < 0.05 and lift > 1)",
        "",
        "Winners, the first 12 of 100",
    ]
    assert lines[-4:] == [
        "Held-out score 0.912 (0.850 to 0.961), matched set 0.610 (0.500 to 0.700), excess +0.302 (+0.210 to +0.394)",
        "Activations of the winners: 1.2500 and beyond, mean 1.5000",
        "Activations of all 5,000 sentences: -1.0000 to 2.0000, mean 0.1000, sd 0.2500",
        "The other pole (--pole bottom): Sentences with *a*: 12 % of its winners.",
    ]
    assert shown(other_pole={"pole": "bottom", "text": None})[-1] == "The other pole (--pole bottom)"
    assert shown(other_pole=None)[-1].startswith("Activations of all 5,000 sentences: ")
    lines = shown(pole="bottom")
    assert lines[0] == "Neuron 3:17 bottom"
    assert lines[-2] == "Activations of the winners: -0.4000 and beyond, mean -0.5000"


def test_an_explanation_comes_before_everything_else() -> None:
    alike = {"leader": {"layer": 1, "unit": 4, "pole": "top"}, "members": 1_200}
    row = explained(5, "top", 0.41, 0.12, 0.05, 0.01) | {"alike": alike, "terms": [term("winners", "top", "see")]}
    lines = shown(explanation=row, everything=True)
    family = "One of 1,200 that go together, led by 1:4 top"
    assert lines[1:5] == [row["text"], f"Verdict: {evidence(row)}", family, shown()[1]]
    assert line(lines, "word: see").split()[-4:] == ["2.000", "0.640", "0.030", "0.250"]
    own = {"leader": {"layer": 1, "unit": 5, "pole": "top"}, "members": 2}
    weak = row | {"verdict": "weak", "alike": own}
    assert shown(explanation=weak)[3:5] == [CAUTION, "One of 2 that go together, which it leads"]
    assert (
        max(map(len, shown(width=60, explanation=row | {"text": "so long " * 30}, findings=[found("word", "a")]))) <= 60
    )


def test_the_first_screen_has_what_sets_winners_apart() -> None:
    alike = {"leader": {"layer": 1, "unit": 4, "pole": "top"}, "members": 2}
    row = explained(5, "top", 0.41, 0.12, 0.05, 0.01) | {"alike": alike, "terms": [], "text": "so long " * 40}
    outputs = {side: [{"token": "token"}] * 20 for side in ("promoted", "suppressed")}
    lines = shown(80, width=110, explanation=row, outputs=outputs, findings=[found("word", f"w{i}") for i in range(6)])
    assert lines.index(line(lines, "word: w5")) < 24
    assert 'Promotes: "token", "token"' in line(lines, "Promotes")


def test_where_it_holds_comes_before_the_scores() -> None:
    rows = [literal(3, 17, 1, [0.0, 1.0, None], verdict="global", negated=True)]
    own = [{"pole": "top", "dataset_to": n, "average_precision": 0.5, "random_precision": 0.1} for n in ("news", "b")]
    audit = where_it_holds(audited(3, 17, "local", 0.5, found_in=["b"]), rows, own)
    lines, whole = shown(audit=audit), shown(audit=audit, everything=True)
    assert lines[1:3] == ["Across data sets: only in b; transfer 0.50 (0.50 to 0.50)", shown()[1]]
    at = whole.index("Lift of its literals within each data set")
    assert whole[at + 1] == "  word: not word 1 (global)"
    assert whole[at + 2].strip() == said_lifts(rows[0])
    assert not any(text.startswith("Lift of its literals") for text in lines)


def test_the_excess_is_said_and_why_a_unit_is_silent_or_has_no_score() -> None:
    assert "0.700), excess not known (fewer" in shown(score={**SCORE, "auc_excess": None}, width=200)[-3]
    assert shown(is_silent=True)[2].startswith("This unit is silent")
    unmined = shown(score=None, is_mined=False, findings=[])
    assert any(text.startswith("Not mined: ") for text in unmined)
    assert not any(text.startswith("Nothing sets them apart") for text in unmined)
    assert not any("silent" in text or "Not mined" in text for text in shown(is_mined=True))


def test_what_is_not_known_is_left_out_or_said() -> None:
    assert not any("score" in text for text in shown(score=None))
    assert "matched set not known" in shown(score={**SCORE, "matched_auc": None}, width=200)[-3]
    lines = shown(means=[{**WORDS, "baseline_mean": None}], dataset=None, score=None)
    assert lines[1] == "Its winners: 7.2 words a sentence (corpus not known)"
    assert shown(means=[], dataset=None, score=None)[1] == ""
    only = {"value": "imdb", "share": 1.0, "baseline_share": 1.0}
    assert shown(dataset=only)[1] == "Its winners: 7.2 words a sentence (corpus 15.1)", "no need to name it"
    assert "Nothing sets them apart (no pattern or value with q < 0.05 and lift > 1)" in lines


@pytest.mark.parametrize(("rows", "expected"), [(None, 12), (2, 2), (10, 10)])
def test_as_many_winners_as_asked_for(rows: int | None, expected: int) -> None:
    lines = [text for text in shown(rows, width=90) if "sentence " in text and "x" in text]
    assert len(lines) == expected
    assert lines[0].startswith("  1   1.8750  sentence 1")
    assert lines[0].endswith("...  pydocs")
    assert max(map(len, lines)) == 90


def test_a_sentence_that_wins_everywhere_is_one_line_and_the_next_takes_its_place() -> None:
    winners = [{**winner, "is_hub": winner["rank"] in (1, 3), "wins": 582} for winner in WINNERS]
    lines = shown(4, winners=winners)
    start = lines.index("Winners, the first 6 of 100")
    assert [text.split()[0] for text in lines[start + 1 : start + 7]] == ["1", "2", "3", "4", "5", "6"]
    for rank, activation in ((1, "1.8750"), (3, "1.6250")):
        hub = rf"  {rank}   {activation}  sentence {rank} x+\.\.\.  \(also wins for 581 other neurons\)"
        assert re.fullmatch(hub, lines[start + rank])
    assert len(lines[start + 1]) == 110, "one line, whatever the sentence's length"
    assert sum("sentence " in text and text.endswith("  pydocs") for text in lines) == 4
    whole = shown(winners=winners, everything=True)
    assert sum("sentence " in text and "xxx" in text for text in whole) == 12, "all of them, hubs too"
    assert sum("(also wins for 581 other neurons)" in text for text in whole) == 2
    ranked = [{"rank": rank, "is_hub": rank in (1, 3, 6)} for rank in range(1, 7)]
    assert [len(first_without_hubs(ranked, most)) for most in (2, 3, 9)] == [4, 5, 6]


def test_one_list_says_what_sets_winners_apart_and_another_what_they_avoid() -> None:
    variants = [found("word", "a b c")] * 9
    lines = shown(
        findings=[
            found("mark", "?", docs=3),
            found("word", "a b", variants=variants),
            found("word_class", "exam/school", q_value=None, docs=None),
            found("subtree", "(S (NP))", items=["S", "NP"]),
            found("dataset", "books", same_as=["domain"]),
        ],
        avoids=[found("tag", "NN NN", items=["NN", "NN"], g2=-5.0, variants=variants[:1])],
    )
    titles = [text.split("   ")[0] for text in lines[3:] if text and not text.startswith(" ")]
    assert titles[:3] == ["What sets them apart", "Winners, the first 12 of 100", "What they avoid"]
    assert line(lines, "What sets").split()[4:] == ["winners", "corpus", "lift"]
    measured = ["20", "%", "1", "%", "20.5"]
    assert line(lines, "word: a b").split() == ["word:", "a", "b", *measured]
    assert line(lines, "word class:").split() == ["word", "class:", "exam/school", *measured]
    assert line(lines, "mark: ?").split() == ["mark:", "?", "20", "%", "*", *measured[2:]]
    assert line(lines, "tag: NN NN").startswith("  tag: NN NN (NN a singular noun)  ")
    assert line(lines, "subtree:").startswith("  subtree: (S (NP)) (S a clause, NP a noun phrase)  ")
    assert line(lines, "dataset, domain: books")
    rows = [found("tag", "NN", g2=120.0), found("word", "a", g2=100.0), found("word", "b", g2=80.0)]
    order = [text.split()[1] for text in shown(findings=rows) if text.startswith(("  word:", "  tag:"))]
    assert order == ["a", "NN", "b"], "words come before syntax that is about as strong"
    assert (
        lines.index(line(lines, "mark:")) < lines.index(line(lines, "word:")) < lines.index(line(lines, "word class:"))
    )


def test_with_everything_findings_have_all_their_measures() -> None:
    variants = [found("word", "a b c")] * 9
    rows = [found("mark", "?", docs=3), found("word", "a b", variants=variants), found("word_class", "x", docs=None)]
    rows[2]["q_value"] = None
    lines = shown(findings=rows, everything=True)
    assert line(lines, "What sets").split()[4:] == ["winners", "share", "corpus", "lift", "G2", "q", "docs", "95", "%"]
    measured, ends = ["0.200", "0.0100", "20.5", "101.3"], ["9.04", "to", "46.5"]
    named = ["word:", "a", "b", "+9", "variants"]
    assert line(lines, "word: a b").split() == [*named, "20", *measured, "1e-09", "15", *ends]
    assert line(lines, "word class:").split() == ["word", "class:", "x", "20", *measured, "-", "-", *ends]
    assert line(lines, "mark: ?").split()[2:4] == ["20", "*"]
    assert line(lines, "* most of these").strip() == "* most of these come from few documents"


def test_a_lift_without_a_corpus_share_is_said() -> None:
    rows = [found("word", "a", count=5, n=5, share=1.0, baseline_share=0.0), found("word", "b")]
    lines = shown(findings=rows)
    assert line(lines, "word: a").split()[2:] == ["5", "of", "5", "0", "%", "no", "other"]
    lines = shown(findings=rows, everything=True)
    assert line(lines, "word: a").split()[2:8] == ["5", "of", "5", "1.000", "0.0000", "no"]
    assert len({len(text) for text in lines if text.startswith(("What sets", "  word"))}) <= 2


def test_a_key_that_few_winners_have_is_given_in_counts() -> None:
    rows = [found("author", "shakespeare", count=8, n=20, docs=2), found("topic", "space")]
    lines = shown(findings=rows)
    assert "  8 of 20 " in line(lines, "author")
    lines = shown(findings=rows, everything=True)
    assert line(lines, "author").split()[2:6] == ["8", "of", "20", "*"]
    assert line(lines, "N of M").strip().startswith("N of M: M winners have the key")


def test_an_example_is_below_the_first_findings_where_everything_is_listed() -> None:
    text = "x" * 200 + " more details"
    examples = [{"text": "See more or less.", "spans": [(4, 8), (12, 16)]}, {"text": text, "spans": [(201, 213)]}]
    rows = [found("word", f"p{i}", example=examples[i % 2]) for i in range(5)]
    lines = shown(findings=rows, everything=True)
    place = lines.index(line(lines, "word: p0"))
    assert lines[place + 1] == "      See [more] or *less*."
    assert lines[place + 3].startswith("      ...xxx")
    assert lines[place + 3].endswith(" [more details]")
    assert [text.strip()[:8] for text in lines[place + 6 : place + 8]] == ["word: p3", "word: p4"]
    assert not any("See [more]" in text for text in shown(findings=rows))


def test_a_screen_is_enough_rows_ask_for_more_and_long_texts_are_cut_to_the_width() -> None:
    some = [found("word", f"w{i}", example={"text": "t", "spans": []}) for i in range(20)]
    many = [found("tag", f"t{i}") for i in range(9)]
    assert len(shown(findings=some, avoids=many)) <= 45
    rows = [found("subtree", "(NP (DT) (NN)) " * 9, docs=1, variants=[{}] * 9), found("k" * 90, "v" * 200)]
    lines = shown(width=110, findings=rows)
    assert max(map(len, lines)) <= 110
    assert line(lines, "subtree: (NP").split()[-6:-3] == ["20", "%", "*"]
    lines = shown(9, findings=some, avoids=many)
    assert sum("word: w" in text for text in lines) == sum("tag: t" in text for text in lines) == 9


def test_hard_negatives_are_listed_with_everything() -> None:
    negatives = [{"rank": 1, "activation": -0.5, "text": "looks like one " + "x" * 200, "dataset": "imdb"}]
    lines = shown(hard_negatives=negatives, everything=True)
    start = lines.index("Look like winners, but do not activate it")
    assert re.fullmatch(r"    1   -0.5000  looks like one x+\.\.\.  \[imdb\]", lines[start + 1])
    assert len(lines[start + 1]) <= 110
    for other in (shown(hard_negatives=negatives), shown(hard_negatives=[], everything=True)):
        assert not any("Look like winners" in line for line in other)


def test_everything_is_listed_where_it_was_asked_for() -> None:
    measured = {"share": 0.5, "baseline_share": None, "lift": None, "g2": 0.0, "q_value": None, "docs": 2}
    patterns = [{**measured, "kind": kind, "pattern": f"{kind} p", "support": 7} for kind in ("subtree", "tag", "word")]
    values = [("tag", "NN", 0.1), ("tag", "DT", 0.6), ("author", "ann", 0.5), ("dataset", "imdb", 0.5)]
    values.append(("noun", "cat", 0.2))
    profiles = [{**measured, "property": p, "value": v, "share": s, "count": 7} for p, v, s in values]
    profiles.append({**profiles[0], "value": "XX", "count": 0})
    lines = shown(patterns=patterns, profiles=profiles, everything=True)
    lines = lines[lines.index("Everything that was mined and counted, sorted by G2") + 1 : -4]
    titles = [text.split("  ")[0] for text in lines if text and not text.startswith(" ")]
    assert titles[:5] == ["Word patterns", "Part-of-speech patterns", "Subtrees", "Data sets", "Nouns"]
    assert titles[5:] == ["Tags, by share of the tokens", "author", "Means"]
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
    peaks.append({**peak("peak_word", "twice", 99.0), "count": 2})
    lines = shown(winners=winners, peaks=peaks)
    assert "[snow] falls" in line(lines, "1 ")
    assert len(line(lines, "1 ")) <= 110
    assert "They peak at: snow (12 of 20; 3.2 % of their words)" in lines
    assert "As parts of speech: a singular noun (12 of 20; 3.2 % of their words)" in lines
    assert not any("twice" in text for text in lines)
    assert not any("They peak" in text for text in shown())


@pytest.mark.parametrize("known", ["auc", "matched_auc", "auc_excess"])
def test_a_score_without_an_interval_is_shown_alone(known: str) -> None:
    """Intervals are null where the corpus has too few test documents."""
    score = {**dict.fromkeys((*SCORE, "auc_excess", "auc_excess_low", "auc_excess_high")), known: 0.5}
    line = next(text for text in shown(score=score) if text.startswith("Held-out score"))
    assert "0.500" in line
    assert "(0" not in line


@pytest.mark.parametrize("width", [60, 110])
def test_a_long_name_of_a_data_set_is_cut_and_leaves_room_for_the_text(width: int) -> None:
    winners = [{**WINNERS[0], "dataset": "d" * 200}]
    lines = shown(width=width, winners=winners)
    own = next(text for text in lines if text.strip().startswith("1 "))
    assert "sentence" in own
    assert "ddd..." in own
    assert len(own) <= width


def test_very_small_activations_are_not_shown_as_nothing() -> None:
    tiny = {name: own * 1e-8 if name != "n" else own for name, own in NEURON.items()}
    lines = shown(neuron=tiny, winners=[{**WINNERS[0], "activation": 1.5e-8}])
    assert lines[-2] == "Activations of the winners: 1.2e-08 and beyond, mean 1.5e-08"
    assert lines[-1].startswith("Activations of all 5,000 sentences: -1.0e-08 to 2.0e")
    assert line(lines, "1  1.5e-08")
