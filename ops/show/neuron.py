"""Lay out one neuron as text: its explanation and scores, its winners, and what sets them apart (Oba 2021, Table 2)."""

from typing import Any

from ops.errors import counted
from ops.facts.audited import lay_out_lifts, lay_out_where
from ops.facts.best import name_of
from ops.facts.explanation import lay_out_explanation, lay_out_terms
from ops.facts.findings import LEAST_COUNT, said_lift
from ops.facts.hub_sentences import said_wins
from ops.facts.outputs import lay_out_outputs
from ops.facts.shared_words import lay_out_shared
from ops.facts.text import activation, cell, interval, lift, number, percent, q_value, shorten, wrap
from ops.penn_names import PHRASES, TAGS
from ops.penn_names import name_of as name_of_code
from ops.show.hard_negatives import lay_out_hard_negatives
from ops.show.winner_lines import LEGEND, line_head, marked, winner_line
from ops.topk.silent import SAID

Rows = list[dict[str, Any]]

LIFT = 22  # width of a lift and its interval
HUB_TEXT = 12  # a folded sentence shows at least this many characters
COLUMNS = "lift: share divided by corpus; q: share of false findings among all at least as certain; docs: documents"
MOST = 1 << 30  # the number of lines that means all
SCREEN = {"winners": 15, "findings": 6, "avoids": 2, "peaks": 4}  # lines per list by default
HEIGHT = 45  # lines of a screen; fewer winners are shown to fit
LEAST = 10  # at least this many winners are shown
EXAMPLES = 3  # this many findings have an example below them where everything is listed
FEW_HUBS = 2  # this many hubs have a line each; the rest are counted in one line
SAID_FIRST = ("word", "word_class", "mark", "value")  # kinds that a person would name before tags and subtrees
ABOUT_AS_STRONG = 1.3  # these kinds come first unless another kind's G2 is more than this many times theirs
# Titles of the properties that --all prints in addition. Properties without a title are printed by name.
_PROPERTIES = {
    "dataset": "Data sets",
    "noun": "Nouns",
    "verb": "Verbs",
    "adjective": "Adjectives",
    "punctuation": "Punctuation marks",
    "tag": "Tags, by share of the tokens",
    "tag_class": "Classes of tags, by share of the tokens",
    "words_per_sentence": "Words per sentence",
}
_PATTERNS = {"word": "Word patterns", "tag": "Part-of-speech patterns", "subtree": "Subtrees"}
_BY_SHARE = ("tag", "tag_class")


def lay_out_neuron(facts: dict[str, Any], rows: int | None, width: int) -> str:
    """Return one neuron and pole as text, by default as much as fits a screen.

    Args:
        facts: the facts that `ops.show.neuron_facts` reads. If they include `patterns` and `profiles`, these are listed
            too, and all lists are complete by default.
        rows: lines per list.
        width: characters per line.
    """
    whole = "patterns" in facts
    most = {name: rows or (MOST if whole else lines) for name, lines in SCREEN.items()}
    above, lines = [*_head(facts, width), ""], list[str]()
    lines += wrap(lay_out_shared(facts["shared_words"]), width).split("\n") if facts.get("shared_words") else []
    avoids = facts["avoids"][: most["avoids"]]
    lay_out = _measured if whole else _short
    found = facts["findings"][: most["findings"]] if whole else _said_first(facts["findings"])[: most["findings"]]
    if found:
        found = [{**row, "example": row.get("example") if i < EXAMPLES else None} for i, row in enumerate(found)]
        lines += lay_out("What sets them apart", found, facts["n_winners"], width)
        lines += wrap(f"  {COLUMNS}", width).split("\n") if whole else []
    else:
        lines += ["", "Nothing sets them apart (no pattern or value with q < 0.05 and lift > 1)"]
    if avoids:
        lines += lay_out("What they avoid", avoids, facts["n_winners"], width)
    lines += _peaks(facts.get("peaks", []), most["peaks"], width)
    if whole:
        lines += _everything(facts, rows or MOST, width)
    lines += ["", *_numbers(facts, width)]
    winners = _winners(facts, most["winners"], whole, width)
    while not whole and rows is None and len(above) + len(winners) + len(lines) > HEIGHT and most["winners"] > LEAST:
        most["winners"] -= 1
        winners = _winners(facts, most["winners"], whole, width)
    return "\n".join([*above, *winners, *lines])


def _head(facts: dict[str, Any], width: int) -> list[str]:
    lines = [f"{facts.get('called', 'neuron').capitalize()} {name_of(facts)}"]
    if facts.get("dictionary"):
        lines += wrap(f"One of {facts['dictionary']}", width).split("\n")
    if facts.get("explanation"):
        lines += lay_out_explanation(facts["explanation"], width)
    if facts.get("audit"):
        lines += wrap(lay_out_where(facts["audit"]), width).split("\n")
    lines += lay_out_outputs(facts.get("outputs"), facts["pole"], width)
    about, strongest = [], facts["dataset"]
    if strongest is not None and strongest["baseline_share"] != 1:  # a corpus with one data set says nothing
        share = (
            ""
            if strongest["baseline_share"] is None
            else f" ({percent(strongest['baseline_share'], '.0f')} of the corpus)"
        )
        about.append(f"{percent(strongest['share'], '.0f')} are from {strongest['value']}{share}")
    about += [
        f"{number(mean['mean'], '.1f')} words a sentence (corpus {_value(mean['baseline_mean'])})"
        for mean in facts["means"]
        if mean["property"] == "words_per_sentence"
    ]
    if about:
        lines += wrap(f"Its winners: {'; '.join(about)}", width).split("\n")
    if not facts.get("is_mined", True):
        called = facts.get("called", "neuron")
        lines.append(f"Not mined: atlas mine was run with --units, which did not include this {called}")
    if facts.get("is_silent"):
        lines.append(f"This unit is {SAID}")
    return lines


def _winners(facts: dict[str, Any], rows: int, whole: bool, width: int) -> list[str]:
    """Return the lines of the first winners.

    Args:
        facts: the facts about the neuron.
        rows: the number of winners to show, not counting hubs.
        whole: whether hubs are shown in full. Otherwise each is folded to one line.
        width: characters per line.
    """
    lines: list[str] = []
    left, shown, hubs = rows, 0, 0
    source = max((len(winner["dataset"]) for winner in facts["winners"]), default=0)
    has_marks = any(winner.get("peak") or winner.get("matches") for winner in facts["winners"])
    for winner in facts["winners"]:
        if not left:
            break
        shown += 1
        if winner.get("is_hub") and not whole:
            hubs += 1
            if hubs <= FEW_HUBS:
                head, wins = line_head(winner), f"  ({said_wins(winner)})"
                lines.append(head + shorten(winner["text"], max(width - len(head) - len(wins), HUB_TEXT)) + wins)
            continue
        left -= 1
        lines.append(winner_line(winner, source, width))
        if winner.get("is_hub"):
            lines.append(f"{'':<{len(line_head(winner))}}({said_wins(winner)})")
    more = hubs - FEW_HUBS
    if more > 0:
        win = "wins" if more == 1 else "win"
        lines.append(f"(left out: {counted(more, 'more sentence')} that also {win} for many other neurons)")
    return [f"Winners, {shown:,} of {facts['n_winners']:,}" + (f"  ({LEGEND})" if has_marks else ""), *lines]


def _numbers(facts: dict[str, Any], width: int) -> list[str]:
    """Return the last lines: the scores, the activations and the other pole."""
    neuron, pole = facts["neuron"], facts["pole"]
    columns = (f"{pole}_threshold", f"{pole}_mean", "min", "max", "mean", "std")
    said = {column: activation(neuron[column]) for column in columns}
    activations = [
        f"Activations of the winners: {said[f'{pole}_threshold']} and beyond, mean {said[f'{pole}_mean']}",
        f"Activations of all {counted(neuron['n'], 'sentence')}: {said['min']} to {said['max']}, mean {said['mean']}, "
        f"sd {said['std']}",
    ]
    lines = _score(facts["score"], width)
    lines += [line for text in activations for line in wrap(text, width).split("\n")]
    other = facts.get("other_pole")
    if other is not None:
        text = f": {other['text']}" if other["text"] else ""
        lines.append(shorten(f"The other pole (--pole {other['pole']}){text}", width))
    return lines


def _score(score: dict[str, Any] | None, width: int) -> list[str]:
    if score is None:
        return []
    matched_set = _area(score, "matched_auc", "matched_low", "matched_high")
    excess = f", excess {_excess(score)}" if "auc_excess" in score else ""
    said = f"Held-out score {_area(score, 'auc', 'auc_low', 'auc_high')}, matched set {matched_set}{excess}"
    return wrap(said, width).split("\n")


def _area(score: dict[str, Any], *columns: str) -> str:
    area, low, high = (score[column] for column in columns)
    return "not known (no test documents)" if area is None else number(area, ".3f") + interval(low, high, ".3f")


def _excess(score: dict[str, Any]) -> str:
    excess, low, high = (score[column] for column in ("auc_excess", "auc_excess_low", "auc_excess_high"))
    few = "not known (fewer than 10 test documents)"
    return few if excess is None else number(excess, "+.3f") + interval(low, high, "+.3f")


def _value(value: float | None) -> str:
    return "not known" if value is None else number(value, ".1f")


def _peaks(peaks: Rows, rows: int, width: int) -> list[str]:
    """Return a line of the words, and one of the tags, at which the first winners peak more often than elsewhere."""
    lines: list[str] = []
    for name, title in (("peak_word", "They peak at"), ("peak_tag", "As parts of speech")):
        own = [p for p in peaks if p["property"] == name and p["g2"] > 0 and p["count"] >= LEAST_COUNT][:rows]
        if not own:
            continue
        said = [
            f"{_plain_tag(p['value']) if name == 'peak_tag' else p['value']} ({p['count']:,} of {p['n']:,}; "
            f"{percent(p['baseline_share'], '.2g')} of their words)"
            for p in own
        ]
        lines.append(shorten(f"{title}: {', '.join(said)}", width))
    return ["", *lines] if lines else []


def _plain_tag(tag: str) -> str:
    return name_of_code(tag) if tag in TAGS else tag


def _said_first(rows: Rows) -> Rows:
    """Return findings, the strongest first. Words, their classes, marks and values precede syntax about as strong."""
    return sorted(rows, key=lambda row: -row["g2"] * (ABOUT_AS_STRONG if row["kind"] in SAID_FIRST else 1.0))


def _short(title: str, rows: Rows, winners: int, width: int) -> list[str]:
    """Return the lines of a list of findings in plain words, each with its shares and lift."""
    titles = f"{'winners':>15}{'corpus':>9}{'lift':>9}"
    room = max(width - len(titles) - 2, 16)
    lines = ["", f"{title:<{room + 2}}{titles}"]
    for row in rows:
        few = row["docs"] is not None and row["docs"] * 4 <= row["count"]
        marks = " (from few documents)" if few and row["count"] else ""
        told = f"{row['count']:,} of {row['n']:,}" if row["n"] < winners else _share(row["share"])
        said = "no other" if row["baseline_share"] == 0 and row["count"] else lift(row["lift"])
        lines.append(
            f"  {shorten(_plain(row), room - len(marks) - 1) + marks:<{room}}{told:>15}"
            f"{_share(row['baseline_share']):>9}{said:>9}"
        )
    return lines


def _share(share: float | None) -> str:
    return percent(share, ".0f" if not share or share >= 0.1 else ".2g")


def _plain(row: dict[str, Any]) -> str:
    """Return a finding in plain words."""
    kind, items = row["kind"], row["items"]
    if kind == "value":
        return f"{', '.join([row['name'], *row['same_as']])}: {row['text']}"
    if kind in ("tag", "subtree"):
        codes = [code for code in dict.fromkeys(items) if code in TAGS | PHRASES]
        named = ", ".join(f"{code} {name_of_code(code)}" for code in codes)
        return f"{kind}: {row['text']}" + (f" ({named})" if named else "")
    return f"{kind.replace('_', ' ')}: {row['text']}"


def _measured(title: str, rows: Rows, winners: int, width: int) -> list[str]:
    """Return the lines of a list of findings with all measures, and an example below if there is one.

    A key of metadata that few winners have says little, however large its share among them, so their number is shown.
    """
    lifts = list(map(_lift, rows))
    wide = max(LIFT, *map(len, lifts))
    titles = f"{'winners':>9}{'share':>7}{'corpus':>9}  {'lift (95 %)':<{wide}}{'q':>8}{'docs':>6}"
    room = max(width - len(titles) - 2, 16)
    lines = ["", f"{cell(title, room + 2)}{titles}"]
    for row, measured in zip(rows, lifts, strict=True):
        kind = ", ".join([row["name"], *row["same_as"]]) if row["kind"] == "value" else row["kind"].replace("_", " ")
        label = f"{kind}: {row['text']}"
        few = row["docs"] is not None and row["docs"] * 4 <= row["count"]
        marks = f" (of {row['n']:,})" if row["n"] < winners else ""
        marks += f" +{counted(len(row['variants']), 'variant')}" if row["variants"] else ""
        marks += " *" if few else ""
        docs = "-" if row["docs"] is None else f"{row['docs']:,}"
        lines.append(
            f"  {shorten(label, room - len(marks) - 1) + marks:<{room}}{row['count']:>9,}"
            f"{number(row['share'], '.3f', 7)}{number(row['baseline_share'], '.4f', 9)}  "
            f"{measured:<{wide}}{q_value(row['q_value']):>8}{docs:>6}"
        )
        if row.get("example"):
            spans = row["example"]["spans"]
            first = tuple(spans[0]) if spans else None
            lines.append(f"      {marked(row['example']['text'], first, spans[1:], width - 6)}")
    if any(row["n"] < winners for row in rows):
        lines.append("  (of N): N winners have the key; shares are among sentences that have it")
    if any(row["docs"] is not None and row["docs"] * 4 <= row["count"] for row in rows):
        lines.append("  * most of these come from few documents")
    return lines


def _lift(row: dict[str, Any]) -> str:
    said = said_lift(row)
    return said if row["baseline_share"] == 0 else f"{said} ({lift(row['lift_low'])} to {lift(row['lift_high'])})"


def _everything(facts: dict[str, Any], rows: int, width: int) -> list[str]:
    lines = lay_out_hard_negatives(facts.get("hard_negatives", []), width)
    lines += lay_out_terms(facts["explanation"], width) if facts.get("explanation") else []
    lines += lay_out_lifts(facts["audit"], width) if facts.get("audit") else []
    lines += ["", "Everything that was mined and counted, sorted by G2"]
    for kind, title in _PATTERNS.items():
        lines += _table(title, [p for p in facts["patterns"] if p["kind"] == kind][:rows], "pattern", "support", width)
    names = sorted({p["property"] for p in facts["profiles"]}, key=lambda name: (name not in _PROPERTIES, name))
    for name in names:
        own = [p for p in facts["profiles"] if p["property"] == name and p["count"]]
        if name in _BY_SHARE:
            own.sort(key=lambda p: -p["share"])
        lines += _table(_PROPERTIES.get(name, name), own[:rows], "value", "count", width)
    if facts["means"]:
        lines += ["", f"{'Means':<40}{'winners':>12}{'corpus':>12}"]
        for mean in facts["means"]:
            name = mean["property"].replace("_", " ")
            lines.append(f"  {name:<38}{number(mean['mean'], '.2f', 12)}{number(mean['baseline_mean'], '.2f', 12)}")
    return lines


def _table(title: str, rows: Rows, name: str, count: str, width: int) -> list[str]:
    """Return the lines of a list of patterns or values.

    Args:
        title: the heading of the first column.
        rows: the patterns or values.
        name, count: the keys of a row's text and of its number of winners.
        width: characters per line.
    """
    if not rows:
        return []
    titles = f"{'winners':>9}{'share':>8}{'corpus':>9}{'lift':>8}{'G2':>10}{'q':>8}{'docs':>7}"
    room = max(width - len(titles) - 2, 16)
    lines = ["", f"{cell(title, room + 2)}{titles}"]
    for row in rows:
        lines.append(
            f"  {cell(row[name], room)}{row[count]:>9,}{number(row['share'], '.3f', 8)}"
            f"{number(row['baseline_share'], '.4f', 9)}{number(row['lift'], '.2f', 8)}{number(row['g2'], '.1f', 10)}"
            f"{q_value(row['q_value']):>8}{row['docs']:>7,}"
        )
    return lines
