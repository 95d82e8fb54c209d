"""Lay out one neuron as text: its explanation, what sets its winners apart, and the winners (Oba 2021, Table 2)."""

from ops.errors import counted
from ops.facts.findings import times
from ops.facts.listing import Listing
from ops.facts.neuron_facts import NeuronFacts, first_without_hubs
from ops.facts.neuron_lists import FROM_FEW, is_from_few, label, literal, literals, measured, mined, nearest, peaks
from ops.facts.rows import Row, Rows, key_of, name_of
from ops.facts.text import activation, filled, interval, number, said_wins, short_percent, shorten, token_text, wrap
from ops.facts.verdicts import CAUTION, evidence, said_lifts, said_measure
from ops.outputs.names import SIDES
from ops.penn_names import PHRASES, TAGS
from ops.penn_names import name_of as name_of_code
from ops.schema.verdicts import RULE
from ops.show.winner_lines import LEGEND, line_head, marked, winner_line
from ops.topk.silent import SAID

TITLE = "What sets them apart"
HUB_TEXT = 12  # a folded sentence shows at least this many characters
COLUMNS = "lift: share divided by corpus; q: share of false findings among all at least as certain; docs: documents"
MOST = 1 << 30  # the number of lines that means all
SCREEN = {"winners": 15, "findings": 6, "avoids": 2, "peaks": 4}  # lines per list by default
HEIGHT = 45  # lines of a screen; fewer winners are shown to fit
LEAST = 10  # at least this many winners are shown
EXAMPLES = 3  # this many findings have an example below them where everything is listed
FEW_HUBS = 2  # this many hubs have a line each; the rest are counted in one line
TOKENS = 8  # tokens listed per side
SAID_FIRST = ("word", "word_class", "mark", "form", "value")  # kinds that a person would name before tags and subtrees
ABOUT_AS_STRONG = 1.3  # these kinds come first unless another kind's G2 is more than this many times theirs


def lay_out_neuron(facts: NeuronFacts, everything: bool, rows: int | None, width: int) -> str:
    """Return one neuron and pole as text, by default as much as fits a screen; `rows` are the lines per list.

    If everything that was mined is listed too, all lists are complete by default.
    """
    most = {name: rows or (MOST if everything else lines) for name, lines in SCREEN.items()}
    head, findings = [*_head(facts, width), ""], _findings(facts, most["findings"], everything, width)
    rest = _wrapped(_shared(facts.shared_words), width)
    avoids = facts.avoids[: most["avoids"]]
    if avoids:
        listing = (measured if everything else _short)("What they avoid", avoids, facts.n_winners)
        rest += ["", *listing.lines(width)]
    rest += _peaks(facts, most["peaks"], width)
    if everything:
        rest += _everything(facts, rows or MOST, width)
    rest += ["", *_numbers(facts, width)]
    winners = _winners(facts, most["winners"], everything, width)
    above = [*head, *findings, ""]
    while not (everything or rows) and len(above) + len(winners) + len(rest) > HEIGHT and most["winners"] > LEAST:
        most["winners"] -= 1
        winners = _winners(facts, most["winners"], everything, width)
    return "\n".join([*above, *winners, *rest])


def _wrapped(text: str, width: int) -> list[str]:
    return wrap(text, width).split("\n") if text else []


def _head(facts: NeuronFacts, width: int) -> list[str]:
    sentences = [f"{facts.called.capitalize()} {name_of(vars(facts))}"]
    if facts.dictionary:
        sentences.append(f"One of {facts.dictionary}")
    if facts.explanation:
        sentences += _explanation(facts.explanation)
    if facts.audit:
        parts = (facts.audit["said"], said_measure(facts.audit, "transfer", "transfer"))
        sentences.append(f"Across data sets: {'; '.join(filter(None, parts))}")
    if facts.outputs:
        promoted, suppressed = (
            ", ".join(token_text(row["token"]) for row in facts.outputs[side][:TOKENS]) for side in SIDES
        )
        high = "" if facts.pole == "top" else " (when its activation is high; a low activation has the opposite effect)"
        sentences.append(f"Promotes: {promoted}; suppresses: {suppressed}{high}")
    if facts.contrasts:
        sentences.append(f"Separates your groups: {'; '.join(facts.contrasts)}")
    about, dataset = [], facts.dataset
    if dataset is not None and dataset["baseline_share"] != 1:  # a corpus with one data set says nothing
        corpus = "" if dataset["baseline_share"] is None else " ({baseline_share:.0f %} of other sentences)"
        about.append(filled(f"{{share:.0f %}} are from {{value}}{corpus}", dataset))
    for mean in facts.means:
        if mean["property"] == "words_per_sentence":
            corpus = "not known" if mean["baseline_mean"] is None else "{baseline_mean:.1f}"
            about.append(filled(f"{{mean:.1f}} words a sentence (corpus {corpus})", mean))
    if about:
        sentences.append(f"Its winners: {'; '.join(about)}")
    if facts.is_silent:
        sentences.append(f"This unit is {SAID}")
    return [line for one in sentences for line in _wrapped(one, width)]


def _explanation(explanation: Row) -> list[str]:
    """Return the sentence, its evidence, a warning unless the verdict is `rule`, and its family."""
    sentences = [explanation["text"], f"Verdict: {evidence(explanation)}"]
    if explanation["verdict"] != RULE:
        sentences.append(CAUTION)
    leader, members = explanation["alike"]["leader"], explanation["alike"]["members"]
    if members > 1:
        led = "which it leads" if key_of(leader) == key_of(explanation) else f"led by {name_of(leader)}"
        sentences.append(f"One of {members:,} that go together, {led}")
    return sentences


def _shared(words: Rows) -> str:
    """Return the words that winners share as one text, or "" if there are none."""
    sure, unsure = (", ".join(f"{w['word']} {w['count']}" for w in words if w["is_sure"] is s) for s in (True, False))
    listed = "; ".join(piece for piece in (sure, f"less certain: {unsure}" if unsure else "") if piece)
    return f"Words they share (of {words[0]['n']:,}): {listed}" if words else ""


def _findings(facts: NeuronFacts, rows: int, everything: bool, width: int) -> list[str]:
    if not facts.is_mined:
        return _wrapped(f"Not mined: atlas mine was run with --units, which did not include this {facts.called}", width)
    if not facts.findings:
        return ["Nothing sets them apart (no pattern or value with q < 0.05 and lift > 1)"]
    if not everything:
        return _short(TITLE, _said_first(facts.findings)[:rows], facts.n_winners).lines(width)
    findings = facts.findings[:rows]
    lines = measured(TITLE, findings, facts.n_winners).lines(width)
    for place, row in reversed([*enumerate(findings[:EXAMPLES], 2)]):
        lines[place:place] = _example(row, width)
    return lines + _wrapped(f"  {COLUMNS}", width)


def _winners(facts: NeuronFacts, rows: int, everything: bool, width: int) -> list[str]:
    """Return the lines of the first winners; unless everything is shown, hubs are folded to one line or counted."""
    lines: list[str] = []
    source = max((len(winner["dataset"]) for winner in facts.winners), default=0)
    shown = facts.winners[:rows] if everything else first_without_hubs(facts.winners, rows)
    folded = [winner for winner in shown if winner["is_hub"] and not everything]
    for winner in shown:
        head, wins = line_head(winner), f"({said_wins(winner)})" if winner["is_hub"] else ""
        if winner in folded[:FEW_HUBS]:
            room = max(width - len(head) - len(wins) - 2, HUB_TEXT)
            lines.append(f"{head}{shorten(winner['text'], room)}  {wins}")
        elif winner not in folded:
            lines.append(winner_line(winner, source, width))
            lines += [f"{'':<{len(head)}}{wins}"] if wins else []
    more = len(folded) - FEW_HUBS
    if more > 0:
        win = "wins" if more == 1 else "win"
        lines.append(f"(left out: {counted(more, 'more sentence')} that also {win} for many other neurons)")
    if not facts.winners:
        return ["It has no winners: it is active in no sentence"]
    last = shown[-1]["rank"] if shown else 0
    has_marks = any(winner.get("peak") or winner.get("matches") for winner in facts.winners)
    count = f"the first {last:,} of {facts.n_winners:,}" if last < facts.n_winners else f"all {last:,}"
    return [f"Winners, {count}" + (f"  ({LEGEND})" if has_marks else ""), *lines]


def _numbers(facts: NeuronFacts, width: int) -> list[str]:
    neuron, pole, score = facts.neuron, facts.pole, facts.score
    sentences = []
    if score is not None:
        sentences.append(
            f"Held-out score {_measured_by(score, 'auc', 'auc', '.3f', 'no test documents')}, "
            f"matched set {_measured_by(score, 'matched_auc', 'matched', '.3f', 'no test documents')}, "
            f"excess {_measured_by(score, 'auc_excess', 'auc_excess', '+.3f', 'fewer than 10 test documents')}"
        )
    ends = f"{{{pole}_threshold:activation}} and beyond, mean {{{pole}_mean:activation}}"
    every = "{min:activation} to {max:activation}, mean {mean:activation}, sd {std:activation}"
    sentences.append(filled(f"Activations of the winners: {ends}", neuron))
    sentences.append(filled(f"Activations of all {counted(neuron['n'], 'sentence')}: {every}", neuron))
    lines = [line for text in sentences for line in _wrapped(text, width)]
    if facts.other_pole is not None:
        text = f": {facts.other_pole['text']}" if facts.other_pole["text"] else ""
        lines.append(shorten(f"The other pole (--pole {facts.other_pole['pole']}){text}", width))
    return lines


def _measured_by(score: Row, name: str, ends: str, form: str, why_not: str) -> str:
    """Return a measure of a score with its interval, or why it is not known."""
    if score[name] is None:
        return f"not known ({why_not})"
    return number(score[name], form) + interval(score[f"{ends}_low"], score[f"{ends}_high"], form)


def _peaks(facts: NeuronFacts, rows: int, width: int) -> list[str]:
    """Return a line of the words, and one of the tags, at which the first winners peak more often than elsewhere."""
    lines: list[str] = []
    tags = {tag: one for tag, (one, _) in TAGS.items()}
    for name, title, names in (("peak_word", "They peak at", {}), ("peak_tag", "As parts of speech", tags)):
        form = "{value} ({count:,} of {n:,}; {baseline_share:.2g %} of their words)"
        values = [filled(form, p | {"value": names.get(p["value"], p["value"])}) for p in facts.sure_peaks(name)[:rows]]
        lines += [shorten(f"{title}: {', '.join(values)}", width)] if values else []
    return ["", *lines] if lines else []


def _said_first(rows: Rows) -> Rows:
    """Return findings, the strongest first. Words, their classes, marks and values precede syntax about as strong."""
    return sorted(rows, key=lambda row: -row["g2"] * (ABOUT_AS_STRONG if row["kind"] in SAID_FIRST else 1.0))


def _short(title: str, rows: Rows, winners: int) -> Listing:
    """Return a list of findings in plain words, each with its shares and lift."""
    lines = []
    for row in rows:
        had = f"{row['count']:,} of {row['n']:,}" if row["n"] < winners else short_percent(row["share"])
        had += " *" * is_from_few(row)
        lines.append((_plain(row), had, short_percent(row["baseline_share"]), times(row)))
    return Listing("", (title, "winners", "corpus", "lift"), lines, [FROM_FEW] if any(map(is_from_few, rows)) else [])


def _plain(row: Row) -> str:
    """Return a finding in plain words: the codes of a pattern of tags or a subtree are named."""
    codes = [code for code in dict.fromkeys(row["items"]) if code in TAGS | PHRASES]
    named = ", ".join(f"{code} {name_of_code(code)}" for code in codes)
    return label(row) + (f" ({named})" if named and row["kind"] in ("tag", "subtree") else "")


def _example(row: Row, width: int) -> list[str]:
    if not row.get("example"):
        return []
    first, *others = row["example"]["spans"] or [None]
    return [f"      {marked(row['example']['text'], first, others, width - 6)}"]


def _everything(facts: NeuronFacts, rows: int, width: int) -> list[str]:
    lines = ["", "Look like winners, but do not activate it"] if facts.hard_negatives else []
    for row in facts.hard_negatives:
        head = f"{row['rank']:>5}  {activation(row['activation']):>8}  "
        source = f"  [{shorten(row['dataset'], width // 3)}]"
        lines.append(head + shorten(row["text"], width - len(head) - len(source)) + source)
    lines += _lists(literals(facts), width)
    audited = facts.audit["literals"] if facts.audit else []
    lines += ["", "Lift of its literals within each data set"] if audited else []
    for row in audited:
        lines.append(f"  {shorten(literal(row), width - len(row['verdict']) - 6)} ({row['verdict']})")
        lines += [f"      {line}" for line in _wrapped(said_lifts(row), width - 6)]
    lines += _lists([*peaks(facts), nearest(facts)], width)
    return [*lines, "", "Everything that was mined and counted, sorted by G2", *_lists(mined(facts, rows), width)]


def _lists(listings: list[Listing], width: int) -> list[str]:
    return [line for listing in listings if listing.rows for line in ("", *listing.lines(width))]
