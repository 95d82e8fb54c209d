"""What a neuron's page shows first, what it folds, and what it shows where tables are missing."""

import re
from typing import Any

import pytest

from ops.facts.neuron_facts import facts_by_pole
from ops.report.neuron_page import FIRST_WINNERS, neuron_context
from ops.report.pages import render
from tests.unit.facts.made_up_rows import run_facts
from tests.unit.report.hostile import DATASET, OPTIONS, RUN, SHARED, TEXTS, neuron_tables
from tests.unit.report.valid_html import check_html

AROUND = {"neighbours": {"before": None, "after": (2, 2)}, "pages": [(2, 1)], "root": "../"}


def page(tables: dict[str, Any], sentences: dict[int, Any], most_wins: float = 1e9, **more: Any) -> str:
    run = run_facts(options=OPTIONS, winners=len(TEXTS), most_wins=most_wins)
    context = neuron_context(facts_by_pole(run, tables, sentences), [])
    text = render("neuron.html", {**SHARED, **context, **AROUND, **more})
    check_html(text)
    return text


def poles(tables: dict[str, Any], sentences: dict[int, Any]) -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = neuron_context(facts_by_pole(RUN, tables, sentences), [])["poles"]
    return shown


def test_a_sentence_that_wins_everywhere_is_a_line_and_the_next_takes_its_place() -> None:
    tables, sentences = neuron_tables()
    for i in range(4, FIRST_WINNERS + 6):
        sentences[i] = {**sentences[i % 4], "sent_id": i, "text": f"plain {i}", "wins": 3}
        for pole in ("bottom", "top"):
            row = {"layer": 2, "unit": 1, "pole": pole, "rank": i + 1, "activation": 0.1, "sent_id": i}
            tables["topk"].append(row)
    sentences[2]["wins"] = 582
    text = page(tables, sentences, most_wins=500)
    assert text.count('class="hub"') == text.count("also wins for 581 other neurons") == 2
    assert [int(rank) for rank in re.findall(r'data-rank="(\d+)"', text)] == 2 * [*range(1, FIRST_WINNERS + 7)]
    first = re.search(r'<ol class="winners"[^>]*>(.*?)</ol>', text, re.DOTALL)
    assert first is not None
    assert first[1].count("<li ") == FIRST_WINNERS + 1
    assert "also wins" not in page(tables, sentences, most_wins=579 + 2 + 1)


def first_pole(text: str) -> str:
    return "top" if text.index('id="top"') < text.index('id="bottom"') else "bottom"


def test_the_better_explained_pole_comes_first_or_else_the_one_of_the_higher_score() -> None:
    tables, sentences = neuron_tables()
    own = tables["explanations"][0]
    assert first_pole(page(tables, sentences)) == "top"
    tables["explanations"].append({**own, "pole": "bottom", "f1": 0.75})
    tables["families"].append({**tables["families"][0], "pole": "bottom"})
    assert first_pole(page(tables, sentences)) == "bottom"
    tables["explanations"] = []
    score = dict.fromkeys(("auc", "auc_low", "auc_high", "matched_auc", "matched_low", "matched_high"), 0.5)
    score |= {"auc_excess_low": 0.0, "auc_excess_high": 1.0}
    tables["scores"] = [{**score, "pole": pole, "auc_excess": e} for pole, e in (("top", 0.1), ("bottom", 0.2))]
    assert first_pole(page(tables, sentences)) == "bottom"


@pytest.mark.parametrize(
    "without",
    [
        ("explanations", "explanation_terms", "families"),
        ("peaks", "token_activations"),
        ("audit/neurons", "audit/patterns", "audit/portability"),
        ("audit/patterns",),
        ("scores", "means", "patterns", "profiles", "compare/neighbours", "outputs/tokens", "contrast/units"),
    ],
)
def test_a_page_goes_without_what_a_run_lacks(without: tuple[str, ...]) -> None:
    tables, sentences = neuron_tables()
    text = page({name: [] if name in without else rows for name, rows in tables.items()}, sentences)
    assert len(re.findall(r'data-rank="\d+"', text)) == 2 * len(TEXTS)
    assert ('class="legend shading"' in text) == ("token_activations" not in without)
    assert ("Nothing stands out" in text) == ("patterns" in without) or "patterns" not in without
    assert ("same as" in text) == ("families" not in without)
    assert ("Holds in 1 of 2 data sets (not in books)" in text) == ("audit/neurons" not in without)
    assert ('<svg class="lifts"' in text) == ("audit/patterns" not in without)
    assert ("<dt>Holds in data sets</dt>" in text) == ("audit/neurons" not in without)
    assert ('<details id="outputs">' in text) == ("outputs/tokens" not in without)
    said = "Separates your groups: lower in mood=&lt;b&gt;glad&lt;/b&gt; (rank 2, matched AUC 0.25)"
    assert (said in text) == ("contrast/units" not in without)
    assert "unsure" not in text


def test_a_neuron_that_was_not_mined_is_not_said_to_have_nothing() -> None:
    tables, sentences = neuron_tables()
    run = run_facts(options=OPTIONS | {"units": ("1:1",)}, winners=len(TEXTS))
    facts = facts_by_pole(run, tables | {name: [] for name in ("patterns", "profiles", "explanation_terms")}, sentences)
    text = render("neuron.html", {**SHARED, **neuron_context(facts, []), **AROUND})
    assert text.count("Not mined: ") == 2
    assert "Nothing stands out" not in text


def test_words_are_counted_among_the_winners_that_a_feature_has() -> None:
    tables, sentences = neuron_tables()
    noun = {"property": "noun", "value": "word", "count": 3, "n": 3, "baseline_n": 40, "rank": 1}
    tables["profiles"] = [tables["profiles"][0] | noun]
    tables["neurons"][0]["n_active"] = 3
    facts = facts_by_pole(run_facts(options=OPTIONS, winners=100), tables, sentences)
    (top,) = [own for own in facts if own.pole == "top"]
    assert [(row["word"], row["n"]) for row in top.shared_words] == [("word", top.n_winners)] == [("word", 3)]


def test_the_tokens_that_it_promotes_are_folded_with_the_first_in_sight() -> None:
    text = page(*neuron_tables())
    folded = re.search(r'<details id="outputs"><summary>(.*?)</summary>(.*?)</details>', text, re.DOTALL)
    assert folded is not None
    promoted, suppressed = folded[1].split("; suppresses: ")
    assert re.findall(r"(promoted|suppressed)(\d)", promoted) == [("promoted", "1"), ("promoted", "2")]
    assert re.findall(r"(promoted|suppressed)(\d)", suppressed) == [("suppressed", "1"), ("suppressed", "2")]
    assert "&#34; &lt;b&gt;promoted1&#34;" in promoted, "a token's space is seen, and its letters are no markup"
    assert folded[2].count("<tr>") == 3


def with_negatives() -> tuple[dict[str, Any], dict[int, Any]]:
    """The tables of the hostile neuron, whose winners at the pole `top` are its hard negatives too, in reverse."""
    tables, sentences = neuron_tables()
    for row in [row for row in tables["token_activations"] if row["pole"] == "top"]:
        own = {**row, "rank": len(TEXTS) + 1 - row["rank"]}
        tables["negative_tokens"].append({**own, "activations": [value / 4 for value in row["activations"]]})
        tables["examples"].append({name: own[name] for name in ("layer", "unit", "pole", "rank", "sent_id")})
        tables["examples"][-1] |= {"quantile": None, "activation": -1.0}
    tables["examples"].reverse()
    return tables, sentences


def folded_negatives(text: str) -> list[str]:
    return re.findall(r'<details class="rest negatives"><summary>.*?</details>', text, re.DOTALL)


def test_hard_negatives_are_folded_below_the_winners_of_their_pole_in_the_winners_shades() -> None:
    tables, sentences = with_negatives()
    (folded,) = folded_negatives(page(tables, sentences))
    assert [int(rank) for rank in re.findall(r'data-rank="(\d+)"', folded)] == [1, 2, 3, 4]
    assert "<summary>Look like winners, but do not activate it</summary>" in folded
    assert "<script>" not in folded, "escaped"
    assert "peak" not in folded
    strongest = max(int(shade) for shade in re.findall(r"class=[np](\d)", folded))
    assert 1 <= strongest < 9, "paler than winners, as all values are a quarter of theirs"
    (pole,) = [pole for pole in poles(tables, sentences) if pole["pole"] == "top"]
    first = "".join(piece.text for piece in pole["negatives"][0]["pieces"])
    assert first == sentences[len(TEXTS) - 1]["text"], "rank 1 is the last winner's sentence"


def test_hard_negatives_need_a_rule_that_they_follow_and_go_without_tokens() -> None:
    tables, sentences = with_negatives()
    (folded,) = folded_negatives(page({**tables, "negative_tokens": []}, sentences))
    assert folded.count("<li ") == len(TEXTS)
    assert not re.findall(r"class=[np]\d", folded)
    tables["explanations"][0]["verdict"] = "none"
    assert not folded_negatives(page(tables, sentences))


def test_neurons_without_a_page_are_links_to_the_map_and_one_pole_has_no_link_to_another() -> None:
    tables, sentences = neuron_tables()
    only = {name: [r for r in rows if r.get("pole") != "bottom" or "family" in r] for name, rows in tables.items()}
    assert 'href="#bottom"' not in page(only, sentences)
    text = page(tables, sentences)
    assert 'href="#bottom"' in text
    assert '<a class="elsewhere" href="../index.html#1-2">1:2</a> lowest' in text
    assert '<a href="1-2.html#bottom">1:2</a> lowest' in page(*neuron_tables(), served=True)


def test_a_finding_says_its_counts_where_the_corpus_has_none_and_peaks_of_few_winners_are_not_shown() -> None:
    tables, sentences = neuron_tables()
    tables["patterns"][0]["baseline_share"] = 0.0
    text = page(tables, sentences)
    assert "3 of 6, none in the corpus" in text
    assert "4 of 4, 12 % of the corpus: 4.00 times" in text
    assert DATASET not in text, "escaped"
    assert "They peak at" in text
    tables["peaks"][0]["count"] = 2
    assert "They peak at" not in page(tables, sentences), "two winners are too few"


def test_the_verdict_has_its_margin_and_its_best_literal_where_they_are_known() -> None:
    tables, sentences = neuron_tables()
    (row,) = tables["explanations"]
    ends = {"margin": 0.01, "margin_low": 0.002, "margin_high": 0.018}
    said = r"<p>Verdict: \w+\. Held-out F1 0\.500 vs [^<]*?({})\.</p>"
    for own, end in (
        ({}, r"; 0\.375 above the highest control; its best literal alone has 0\.250"),
        (ends | {"single_f1": None}, r"; 0\.010 \(0\.002 to 0\.018\) above the highest control"),
        ({"margin": None, "single_f1": None}, r"0\.125"),
    ):
        assert re.search(said.format(end), page({**tables, "explanations": [{**row, **own}]}, sentences))


def test_a_long_start_before_the_peak_is_folded_but_there() -> None:
    tables, sentences = neuron_tables()
    words = ["word"] * 60
    text = " ".join(words)
    sentences[0] |= {"text": text, "words": words, "tags": ["NN"] * 60}
    starts, ends = [5 * i for i in range(60)], [5 * i + 4 for i in range(60)]
    for row in tables["token_activations"]:
        if row["sent_id"] == 0:
            strongest = 1 if row["pole"] == "top" else -1
            row |= {"starts": starts, "ends": ends, "activations": [0.0] * 50 + [strongest] * 10}
    shown = page(tables, sentences)
    lead = re.search(r'<span class="lead">(.*?)</span>', shown)
    assert lead is not None
    assert 200 <= len(lead[1]) < 250
    line = re.search(r'<bdi class="text">(<span class="lead">.*?)</bdi>', shown)
    assert line is not None
    assert re.sub(r"<[^>]*>", "", line[1]) == text


def test_one_token_far_beyond_all_others_does_not_make_these_pale() -> None:
    tables, sentences = neuron_tables()
    for row in tables["token_activations"]:
        row["activations"] = [0.5] * len(row["activations"])
    for row in tables["token_activations"][:2]:
        row["activations"][1] = 1_000.0  # the first token is the tokenizer's own
    assert [pole["scale"] for pole in poles(tables, sentences)] == [0.5, 0.5]
    assert poles(tables | {"token_activations": []}, sentences)[0]["scale"] == 0


def test_a_literal_s_lift_in_each_data_set_is_drawn_and_said() -> None:
    tables, sentences = neuron_tables()
    tables["audit/patterns"] = [{**tables["audit/patterns"][0], "rank": rank} for rank in range(1, 6)]
    text = page(tables, sentences)
    assert text.count('<svg class="lifts"') == 5
    assert "<summary>2 more</summary>" in text
    (said,) = set(re.findall(r'aria-label="Lift within each data set, with its 95 % interval: ([^"]*)"', text))
    assert said.endswith("4.48 (1.65 to 12.2), books 0.61 (0.22 to 1.65), unseen not known")
    assert DATASET not in text, "escaped"
    assert text.count('<circle class="above"') == 5, "that of the first data set alone is surely above 1"
    assert text.count("<circle") == 10
    assert text.count(">not known</text>") == 5
    assert "only because data sets differ" in text
    assert "(local); transfer 0.25.</p>" in text
