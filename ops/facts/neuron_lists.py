"""Lists of everything that was measured about a neuron, which `show --all` prints and pages fold."""

from ops.errors import counted
from ops.facts.findings import times
from ops.facts.listing import Listing
from ops.facts.neuron_facts import NeuronFacts
from ops.facts.rows import Row, Rows
from ops.facts.text import filled, plain
from ops.forms.forms import NAMES

_PATTERNS = {"word": "Word patterns", "tag": "Part-of-speech patterns", "subtree": "Subtrees"}
# Titles of properties, whose lists come before those of metadata, which have the name of their key.
_PROPERTIES = {
    "dataset": "Data sets", "form": "Forms", "first_word": "First words", "last_word": "Last words",
    "pronoun": "Pronouns, by person and number", "tense": "Tenses of the first verb", "prefix": "Prefixes",
    "suffix": "Suffixes", "shape": "Shapes of words", "noun": "Nouns", "verb": "Verbs", "adjective": "Adjectives",
    "punctuation": "Punctuation marks", "tag": "Tags, by share of the tokens",
    "tag_class": "Classes of tags, by share of the tokens", "words_per_sentence": "Words per sentence",
}  # fmt: skip
_BY_SHARE = ("tag", "tag_class")
_MODELS = {"winners": ("Literals of its winners", "winners"), "activation": ("Literals of its whole range", "top 10 %")}
FROM_FEW = "* most of these come from few documents"
_MEASURES = [
    ("share", "{share:.3f}"), ("corpus", "{baseline_share:.4f}"), ("lift", "{times}"), ("G2", "{g2:.1f}"),
    ("q", "{q_value:q}"), ("docs", "{docs:,}"),
]  # fmt: skip


def measured(title: str, rows: Rows, winners: int) -> Listing:
    """Return a list of findings with all measures.

    A key of metadata that few winners have says little, however large its share among them, so their number is shown.
    """
    notes = [FROM_FEW] if any(map(is_from_few, rows)) else []
    if any(row["n"] < winners for row in rows):
        notes.insert(0, "N of M: M winners have the key; shares are among sentences that have it")
    lines = []
    for row in rows:
        count = filled("{count:,}" if row["n"] == winners else "{count:,} of {n:,}", row) + " *" * is_from_few(row)
        ends = "-" if row["baseline_share"] == 0 else filled("{lift_low:lift} to {lift_high:lift}", row)
        variants = f" +{counted(len(row['variants']), 'variant')}" if row["variants"] else ""
        lines.append(row | {"label": label(row) + variants, "had": count, "times": times(row), "ends": ends})
    columns = [(title, "{label}"), ("winners", "{had}"), *_MEASURES, ("95 %", "{ends}")]
    return Listing.of("", columns, lines, notes)


def label(row: Row) -> str:
    """Return a finding with its kind, or with the properties that have the value."""
    return f"{kind_of(row)}: {row['text']}"


def kind_of(row: Row) -> str:
    """Return the kind of a finding, or the properties of a form or value, in words."""
    if row["kind"] not in ("form", "value"):
        return plain(row["kind"])
    return ", ".join(plain(name) if name in NAMES else name for name in (row["name"], *row["same_as"]))


def is_from_few(row: Row) -> bool:
    """Return whether most of a finding's winners come from few documents."""
    return row["docs"] is not None and 0 < row["docs"] * 4 <= row["count"]


def literals(facts: NeuronFacts) -> list[Listing]:
    """Return lists of the literals of the score card and of the activation model, with their weights and shares."""
    terms = [term | {"literal": literal(term)} for term in (facts.explanation["terms"] if facts.explanation else [])]
    return [
        Listing.of(
            "",
            [
                (title, "{literal}"), ("weight", "{weight:.3f}"), (having, "{share:.3f}"),
                ("others", "{baseline_share:.3f}"), ("gain", "{gain:.3f}"),
            ],
            [term for term in terms if term["model"] == model],
        )
        for model, (title, having) in _MODELS.items()
    ]  # fmt: skip


def literal(row: Row) -> str:
    """Return the literal of a row of explanation_terms/ or audit/patterns/ as text."""
    return f"{plain(row['kind'])}: {'not ' * row['negated']}{row['pattern']}"


def peaks(facts: NeuronFacts) -> list[Listing]:
    """Return lists of the words and of the tags at which winners peak more often than elsewhere."""
    measures = [
        ("winners", "{count:,} of {n:,}"), ("share", "{share:.3f}"), ("of their words", "{baseline_share:.3f}"),
        ("lift", "{lift:lift}"),
    ]  # fmt: skip
    titles = {"peak_word": "Word at the peak", "peak_tag": "Tag at the peak"}
    return [Listing.of("", [(titles[name], "{value}"), *measures], facts.sure_peaks(name)) for name in titles]


def nearest(facts: NeuronFacts) -> Listing:
    """Return the list of the units whose activations correlate most with the neuron's."""
    columns = [("correlation", "{correlation:.3f}"), ("overlap", "{overlap:.3f}")]
    return Listing.of("", [(f"Nearest {facts.called}s", "{layer_b}:{unit_b}"), *columns], facts.nearest)


def mined(facts: NeuronFacts, rows: int) -> list[Listing]:
    """Return lists of everything that was mined and counted, sorted by G2, and of means; at most `rows` rows each."""
    lists = [
        _counted(title, [p for p in facts.patterns if p["kind"] == kind][:rows], "{pattern}", "{support:,}")
        for kind, title in _PATTERNS.items()
    ]
    for name in sorted({p["property"] for p in facts.profiles}, key=lambda name: (name not in _PROPERTIES, name)):
        profiles = [p for p in facts.profiles if p["property"] == name and p["count"]]
        profiles = sorted(profiles, key=lambda p: -p["share"]) if name in _BY_SHARE else profiles
        lists.append(_counted(_PROPERTIES.get(name, name), profiles[:rows], "{value}", "{count:,}"))
    means = [("Means", "{property:plain}"), ("winners", "{mean:.2f}"), ("corpus", "{baseline_mean:.2f}")]
    return [*lists, Listing.of("", means, facts.means)]


def _counted(title: str, rows: Rows, name: str, count: str) -> Listing:
    return Listing.of("", [(title, name), ("winners", count), *_MEASURES], [r | {"times": times(r)} for r in rows])
