"""Lists of everything that was measured about a neuron, which `show --all` prints and pages fold."""

from typing import Any

from ops.errors import counted
from ops.facts.listing import Listing, numbers
from ops.facts.neuron_facts import NeuronFacts
from ops.facts.text import lift, number, q_value

Row = dict[str, Any]
Rows = list[Row]

# Titles of properties. Properties without a title have their name.
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
_MODELS = {"winners": ("Literals of its winners", "winners"), "range": ("Literals of its whole range", "top 10 %")}
FROM_FEW = "* most of these come from few documents"
_MEASURES = ("winners", "share", "corpus", "lift", "G2", "q", "docs")


def measured(title: str, rows: Rows, winners: int) -> Listing:
    """Return a list of findings with all measures.

    A key of metadata that few winners have says little, however large its share among them, so their number is shown.

    Args:
        title: the list's title.
        rows: the findings.
        winners: the number of winners.
    """
    notes = [FROM_FEW] if any(map(is_from_few, rows)) else []
    if any(row["n"] < winners for row in rows):
        notes.insert(0, "N of M: M winners have the key; shares are among sentences that have it")
    lines = []
    for row in rows:
        count, *measures = _measures(row, row["count"])
        had = count if row["n"] == winners else f"{count} of {row['n']:,}"
        lines.append((_label(row), had + " *" * is_from_few(row), *measures, _interval(row)))
    return Listing("", (title, *_MEASURES, "95 %"), lines, notes)


def _label(row: Row) -> str:
    kind = ", ".join([row["name"], *row["same_as"]]) if row["kind"] == "value" else row["kind"].replace("_", " ")
    return f"{kind}: {row['text']}" + (f" +{counted(len(row['variants']), 'variant')}" if row["variants"] else "")


def _measures(row: Row, count: int) -> tuple[str, ...]:
    shares = number(row["share"], ".3f"), number(row["baseline_share"], ".4f")
    strength = number(row["g2"], ".1f"), q_value(row["q_value"]), number(row["docs"], ",")
    return number(count, ","), *shares, "no other" if row["baseline_share"] == 0 else lift(row["lift"]), *strength


def _interval(row: Row) -> str:
    return "-" if row["baseline_share"] == 0 else f"{lift(row['lift_low'])} to {lift(row['lift_high'])}"


def is_from_few(row: Row) -> bool:
    """Return whether most of a finding's winners come from few documents."""
    return row["docs"] is not None and 0 < row["docs"] * 4 <= row["count"]


def literals(facts: NeuronFacts) -> list[Listing]:
    """Return lists of the literals of the score card and of the range model, with their weights and shares."""
    terms = facts.explanation["terms"] if facts.explanation else []
    return [
        Listing(
            "",
            (title, "weight", had_by, "others", "gain"),
            [
                (literal(term), *numbers(term, ("weight", "share", "baseline_share", "gain"), ".3f"))
                for term in terms
                if term["model"] == model
            ],
        )
        for model, (title, had_by) in _MODELS.items()
    ]


def literal(row: Row) -> str:
    """Return the literal of a row of explanation_terms/ or audit/patterns/ as text."""
    return f"{row['kind'].replace('_', ' ')}: {'not ' * row['negated']}{row['pattern']}"


def peaks(facts: NeuronFacts) -> list[Listing]:
    """Return lists of the words and of the tags at which winners peak more often than elsewhere."""
    titles = {"peak_word": "Word at the peak", "peak_tag": "Tag at the peak"}
    return [
        Listing("", (title, "winners", "share", "of their words", "lift"), list(map(_peak, facts.sure_peaks(name))))
        for name, title in titles.items()
    ]


def _peak(row: Row) -> tuple[str, ...]:
    shares = numbers(row, ("share", "baseline_share"), ".3f")
    return row["value"], f"{row['count']:,} of {row['n']:,}", *shares, lift(row["lift"])


def nearest(facts: NeuronFacts) -> Listing:
    """Return the list of the units whose activations correlate most with the neuron's."""
    rows = [(f"{r['layer_b']}:{r['unit_b']}", *numbers(r, ("correlation", "overlap"), ".3f")) for r in facts.nearest]
    return Listing("", (f"Nearest {facts.called}s", "correlation", "overlap"), rows)


def mined(facts: NeuronFacts, rows: int) -> list[Listing]:
    """Return lists of everything that was mined and counted, sorted by G2, and of means.

    Args:
        facts: the facts about the neuron.
        rows: maximum number of rows in a list.
    """
    lists = [
        _counted(title, [p for p in facts.patterns if p["kind"] == kind][:rows], "pattern", "support")
        for kind, title in _PATTERNS.items()
    ]
    for name in sorted({p["property"] for p in facts.profiles}, key=lambda name: (name not in _PROPERTIES, name)):
        own = [p for p in facts.profiles if p["property"] == name and p["count"]]
        own = sorted(own, key=lambda p: -p["share"]) if name in _BY_SHARE else own
        lists.append(_counted(_PROPERTIES.get(name, name), own[:rows], "value", "count"))
    means = [(m["property"].replace("_", " "), *numbers(m, ("mean", "baseline_mean"), ".2f")) for m in facts.means]
    return [*lists, Listing("", ("Means", "winners", "corpus"), means)]


def _counted(title: str, rows: Rows, name: str, count: str) -> Listing:
    return Listing("", (title, *_MEASURES), [(row[name], *_measures(row, row[count])) for row in rows])
