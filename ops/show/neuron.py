"""One neuron as text: its explanation and scores, its winners, and what sets them apart (Oba 2021, Table 2)."""

from typing import Any

from ops.errors import counted
from ops.penn_names import PHRASES, TAGS
from ops.penn_names import name_of as name_of_code
from ops.show.audited import lay_out_lifts, lay_out_where
from ops.show.best import name_of
from ops.show.examples import mark
from ops.show.explanation import lay_out_explanation, lay_out_terms
from ops.show.findings import LEAST_COUNT, said_lift
from ops.show.hub_sentences import said_wins
from ops.show.outputs import lay_out_outputs
from ops.show.text import activation, lift, number, q_value, shorten, wrap
from ops.topk.silent import SAID

Rows = list[dict[str, Any]]

LIFT = 22  # characters of a lift and its interval
HUB_TEXT = 12  # characters at least of a sentence that is folded
COLUMNS = "lift: share by corpus; q: share of false findings among all that are at least as sure; docs: documents"
MOST = 1 << 30  # lines: all
SCREEN = {"winners": 8, "findings": 8, "examples": 3, "avoids": 3, "peaks": 3}  # lines where no number is given
# What --all prints besides: titles of properties, those that have none by their name.
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
    """Return one neuron and pole as text, a screen of it where no number of rows is given.

    Args:
        facts: what `ops.show.neuron_facts` reads; with `patterns` and `profiles` these are listed too, and without a
            number of rows all of everything.
        rows: lines of each list.
        width: characters of a line.
    """
    whole = "patterns" in facts
    most = {name: rows or (MOST if whole else lines) for name, lines in SCREEN.items()}
    lines = [*_head(facts, width), "", *_winners(facts, most["winners"], whole, width)]
    winners = facts["n_winners"]
    if facts["findings"]:
        found = [
            {**row, "example": row.get("example") if place < most["examples"] else None}
            for place, row in enumerate(facts["findings"][: most["findings"]])
        ]
        lines += _measured("What sets them apart", found, winners, width)
        lines += wrap(f"  {COLUMNS}", width).split("\n")
    else:
        lines += ["", "Nothing sets them apart (no pattern or value with q < 0.05 and lift > 1)"]
    avoids = facts["avoids"][: most["avoids"]]
    if avoids:
        lines += _measured("What they avoid", avoids, winners, width)
    peaks = facts.get("peaks", [])
    lines += _peaks(peaks, most["peaks"], width)
    if not whole:
        lines += _tags([*facts["findings"][: most["findings"]], *avoids], width)
    if whole:
        lines += _everything(facts, rows or MOST, width)
    return "\n".join([*lines, "", *_numbers(facts, width)])


def _head(facts: dict[str, Any], width: int) -> list[str]:
    score = facts["score"]
    lines = [f"{facts.get('called', 'neuron').capitalize()} {name_of(facts)}"]
    if facts.get("dictionary"):
        lines += wrap(f"One of {facts['dictionary']}", width).split("\n")
    if facts.get("explanation"):
        lines += lay_out_explanation(facts["explanation"], width)
    if facts.get("audit"):
        lines += wrap(lay_out_where(facts["audit"]), width).split("\n")
    lines += lay_out_outputs(facts.get("outputs"), facts["pole"], width)
    about = []
    if score is not None:
        matched = _area(score, "matched_auc", "matched_low", "matched_high")
        excess = f", excess {_excess(score)}" if "auc_excess" in score else ""
        about.append(f"Held-out score {_area(score, 'auc', 'auc_low', 'auc_high')}, matched set {matched}{excess}")
    about += [
        f"{mean['mean']:.1f} words a sentence (corpus {_value(mean['baseline_mean'])})"
        for mean in facts["means"]
        if mean["property"] == "words_per_sentence"
    ]
    strongest = facts["dataset"]
    if strongest is not None:
        share = "" if strongest["baseline_share"] is None else f" (corpus {strongest['baseline_share']:.0%})"
        about.append(f"data set {strongest['value']} {strongest['share']:.0%}{share}")
    if about:
        lines += wrap("; ".join(about), width).split("\n")
    if not facts.get("is_mined", True):
        lines.append(f"Not mined: jobs.mine was run with --units, which leave this {facts.get('called', 'neuron')} out")
    if facts.get("is_silent"):
        lines.append(f"This unit is {SAID}")
    return lines


def _winners(facts: dict[str, Any], rows: int, whole: bool, width: int) -> list[str]:
    """Return the lines of the first winners, so many that are no hubs; of a hub its wins, or all where it is wanted."""
    lines, left = [], rows
    for winner in facts["winners"]:
        if not left:
            break
        head = f"{winner['rank']:>5}  {activation(winner['activation']):>8}  "
        if winner.get("is_hub") and not whole:
            wins = f"  ({said_wins(winner)})"
            lines.append(head + shorten(winner["text"], max(width - len(head) - len(wins), HUB_TEXT)) + wins)
            continue
        left -= 1
        source = f"  [{winner['dataset']}]"
        spans = [winner["peak"]["span"]] if winner.get("peak") else []
        text = _around({"text": winner["text"], "spans": spans}, width - len(head) - len(source))
        lines.append(head + text + source)
        if winner.get("is_hub"):
            lines.append(f"{'':<{len(head)}}({said_wins(winner)})")
    return [f"Winners, {len(lines):,} of {facts['n_winners']:,}", *lines]


def _numbers(facts: dict[str, Any], width: int) -> list[str]:
    """Return the lines that come last: the activations, and what the other pole is."""
    neuron, pole = facts["neuron"], facts["pole"]
    columns = (f"{pole}_threshold", f"{pole}_mean", "min", "max", "mean", "std")
    said = {column: activation(neuron[column]) for column in columns}
    lines = [
        f"Activations {said[f'{pole}_threshold']} and beyond, mean {said[f'{pole}_mean']}; of all "
        f"{counted(neuron['n'], 'sentence')} {said['min']} to {said['max']}, mean {said['mean']}, "
        f"standard deviation {said['std']}"
    ]
    other = facts.get("other_pole")
    if other is not None:
        text = f": {other['text']}" if other["text"] else ""
        lines.append(shorten(f"The other pole (--pole {other['pole']}){text}", width))
    return lines


def _area(score: dict[str, Any], *columns: str) -> str:
    area, low, high = (score[column] for column in columns)
    return "not known (no test documents)" if area is None else f"{area:.3f} ({low:.3f} to {high:.3f})"


def _excess(score: dict[str, Any]) -> str:
    excess, low, high = (score[column] for column in ("auc_excess", "auc_excess_low", "auc_excess_high"))
    few = "not known (fewer than 10 test documents)"
    return few if excess is None else f"{excess:+.3f} ({low:+.3f} to {high:+.3f})"


def _value(value: float | None) -> str:
    return "not known" if value is None else f"{value:.1f}"


def _peaks(peaks: Rows, rows: int, width: int) -> list[str]:
    """Return the lines of the words and tags at which the first winners peak more often than at any of their words."""
    lines: list[str] = []
    titles = f"{'winners':>9}{'share':>7}{'in them':>10}{'lift':>8}{'G2':>9}"
    room = max(width - len(titles) - 2, 16)
    for name, title in (("peak_word", "Words at which they peak (in brackets)"), ("peak_tag", "Parts of speech")):
        own = [p for p in peaks if p["property"] == name and p["g2"] > 0 and p["count"] >= LEAST_COUNT][:rows]
        if own and not lines:
            lines += ["", f"{title:<{room + 2}}{titles}"]
        elif own:
            lines.append(title)
        for p in own:
            lines.append(
                f"  {shorten(p['value'], room - 1):<{room}}{p['count']:>9,}{p['share']:>7.3f}"
                f"{p['baseline_share']:>10.4f}{p['lift']:>8.2f}{p['g2']:>9.1f}"
            )
    return lines


def _measured(title: str, rows: Rows, winners: int, width: int) -> list[str]:
    """Return the lines of a list of findings, with measures, and an example below where there is one.

    A key that few of the winners have says little, however large its share of these: they are counted next to it.
    """
    lifts = list(map(_lift, rows))
    wide = max(LIFT, *map(len, lifts))
    titles = f"{'winners':>9}{'share':>7}{'corpus':>9}  {'lift (95 %)':<{wide}}{'q':>8}{'docs':>6}"
    room = max(width - len(titles) - 2, 16)
    lines = ["", f"{shorten(title, room + 2):<{room + 2}}{titles}"]
    for row, measured in zip(rows, lifts, strict=True):
        label = f"{', '.join([row['name'], *row['same_as']]) if row['kind'] == 'value' else row['kind']}: {row['text']}"
        few = row["docs"] is not None and row["docs"] * 4 <= row["count"]
        marks = f" (of {row['n']:,})" if row["n"] < winners else ""
        marks += f" +{counted(len(row['variants']), 'variant')}" if row["variants"] else ""
        marks += " *" if few else ""
        docs = "-" if row["docs"] is None else f"{row['docs']:,}"
        lines.append(
            f"  {shorten(label, room - len(marks) - 1) + marks:<{room}}{row['count']:>9,}{row['share']:>7.3f}"
            f"{number(row['baseline_share'], 9, 4)}  {measured:<{wide}}{q_value(row['q_value']):>8}{docs:>6}"
        )
        if row.get("example"):
            lines.append(f"      {_around(row['example'], width - 6)}")
    if any(row["n"] < winners for row in rows):
        lines.append("  (of N) so many winners have the key; shares are of these, and the corpus's likewise")
    if any(row["docs"] is not None and row["docs"] * 4 <= row["count"] for row in rows):
        lines.append("  * most of these come from few documents")
    return lines


def _lift(row: dict[str, Any]) -> str:
    said = said_lift(row)
    return said if row["baseline_share"] == 0 else f"{said} ({lift(row['lift_low'])} to {lift(row['lift_high'])})"


def _around(example: dict[str, Any], width: int) -> str:
    """Return an example with its match marked, its start left out where the match would not be seen."""
    text, spans = example["text"], example["spans"]
    if spans and spans[0][1] + 8 > width:
        begin = max(spans[0][0] - width // 3, 0)
        text, spans = "..." + text[begin:], [(a - begin + 3, b - begin + 3) for a, b in spans]
    return shorten(mark(text, spans), width)


def _tags(rows: Rows, width: int) -> list[str]:
    """Return the lines that say what the tags and phrases of some findings are."""
    codes = {item: None for row in rows if row["kind"] in ("tag", "subtree") for item in row["items"]}
    named = [f"{code} {name_of_code(code)}" for code in sorted(codes) if code in TAGS | PHRASES]
    return ["", *wrap(f"Tags: {'; '.join(named)}", width).split("\n")] if named else []


def _everything(facts: dict[str, Any], rows: int, width: int) -> list[str]:
    lines = lay_out_terms(facts["explanation"], width) if facts.get("explanation") else []
    lines += lay_out_lifts(facts["audit"], width) if facts.get("audit") else []
    lines += ["", "All that was mined and counted, by G2"]
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
            lines.append(f"  {name:<38}{mean['mean']:>12.2f}{number(mean['baseline_mean'], 12, 2)}")
    return lines


def _table(title: str, rows: Rows, name: str, count: str, width: int) -> list[str]:
    """Return the lines of a list of patterns or values, whose text and number stand in the columns named."""
    if not rows:
        return []
    titles = f"{'winners':>9}{'share':>8}{'corpus':>9}{'lift':>8}{'G2':>10}{'q':>8}{'docs':>7}"
    room = max(width - len(titles) - 2, 16)
    lines = ["", f"{shorten(title, room + 2):<{room + 2}}{titles}"]
    for row in rows:
        lines.append(
            f"  {shorten(row[name], room):<{room}}{row[count]:>9,}{row['share']:>8.3f}"
            f"{number(row['baseline_share'], 9, 4)}{number(row['lift'], 8, 2)}{number(row['g2'], 10, 1)}"
            f"{q_value(row['q_value']):>8}{row['docs']:>7,}"
        )
    return lines
