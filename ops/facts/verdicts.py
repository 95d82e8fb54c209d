"""The verdicts of `explain` and `audit` in words, with the numbers that they rest on: of a neuron, and of a run."""

import math
from collections import Counter

from ops.facts.rows import Row
from ops.facts.text import enumerated, filled, interval, lift, number
from ops.facts.transfers import LEAST_GAIN
from ops.schema.verdicts import NONE, RULE, SOURCE, TENDENCY, UNCONFIRMED, WEAK

CAUTION = "Judge by the winners: no rule was confirmed on held-out documents."
# What an F1 is held against, by its column.
_CONTROLS = {"chance_f1": "chance", "nuisance_f1": "length/source", "matched_f1": "matched"}
_HEADLINES = {
    RULE: "A rule that holds on held-out documents",
    TENDENCY: "Differs from sentences like its winners; no rule confirmed",
    SOURCE: "Length and source predict it; no rule beyond them confirmed",
    UNCONFIRMED: "No rule confirmed",
    NONE: "No rule and no tendency",
    WEAK: "Too few winners to tell",
}
AUDITED = ("global", "local", "dataset_detector", "none")  # the verdicts of audit about neurons and poles
AUDITED_LITERALS = ("global", "local", "dataset", "none")  # its verdicts about their literals
NEURONS, PERMUTED, HALVES = "neurons", "permuted", "halves"  # what a number of an audit is about
_WHERE = {HALVES: "between two halves of one data set", PERMUTED: "with data sets permuted over documents"}
WIDEST = 1.0  # width of an interval of a transfer above which it says nothing
FEW_MISSING = 2  # the data sets in which it does not hold are named if there are at most this many
MOST_NAMED = 6  # otherwise those in which it holds are named, if there are at most this many
_MOST = 700.0  # a log lift whose exponential is still finite


def headline(explanation: Row) -> str:
    """Return what the verdict of a row of explanations/ means, with its F1 and that of a matched set."""
    ends = " ({f1_low:.2f}\u2013{f1_high:.2f})" if explanation["f1_low"] is not None else ""
    matched = ", matched set {matched_f1:.2f}" if explanation["matched_f1"] is not None else ""
    numbers = f": F1 {{f1:.2f}}{ends}{matched}" if explanation["f1"] is not None else ""
    return filled(_HEADLINES[explanation["verdict"]] + numbers, explanation)


def evidence(explanation: Row) -> str:
    """Return the verdict of a row of explanations/ with its held-out F1 and that of each control.

    >>> row = {"verdict": "weak", "f1": 0.3, "f1_low": None, "f1_high": None, "chance_f1": 0.01, "nuisance_f1": None}
    >>> evidence({**row, "matched_f1": 0.1})
    'weak. Held-out F1 0.300 vs chance 0.010, matched 0.100'
    """
    if explanation["f1"] is None:
        return str(explanation["verdict"])
    ends = interval(explanation["f1_low"], explanation["f1_high"], ".3f")
    known = {title: explanation[name] for name, title in _CONTROLS.items() if explanation[name] is not None}
    controls = ", ".join(f"{title} {number(value, '.3f')}" for title, value in known.items())
    sentence = f"{explanation['verdict']}. Held-out F1 {number(explanation['f1'], '.3f')}{ends}"
    return f"{sentence} vs {controls}" if controls else sentence


def said_of_explanations(verdicts: list[str]) -> str:
    """Return the verdicts of a run's neurons and poles in a sentence."""
    counts = Counter(verdicts)
    return (
        f"{counts[RULE]:,} of {len(verdicts):,} neurons and poles have a rule that beats its controls on unseen "
        f"documents; {counts[TENDENCY]:,} more differ from sentences like their winners, and length and source alone "
        f"predict {counts[SOURCE]:,}. Of the others, {counts[NONE]:,} surely have no rule worth the name, for "
        f"{counts[UNCONFIRMED]:,} no rule was confirmed, and {counts[WEAK]:,} have too few winners to tell."
    )


def said_where(row: Row, known: list[str]) -> str:
    """Return in words in which data sets the explanation of a neuron and pole holds.

    `known` are the data sets in which it has enough winners. The row is one of audit/neurons/.

    >>> row = {"verdict": "global", "ported": 2, "holds_in": ["books", "news"], "found_in": ["news"]}
    >>> said_where(row, ["books", "news", "tweets"])
    'holds in 2 of 3 data sets (not in tweets)'
    """
    holds, found_in = row["holds_in"], row["found_in"]
    if row["verdict"] == "dataset_detector":
        return "follows the data set rather than language"
    if len(known) < 2:
        return "has enough winners to tell in only one data set" if known else "has too few winners to tell"
    if row["verdict"] == "none":
        return "within no single data set, where winners are fewer, was it confirmed"
    if holds:
        missing = [name for name in known if name not in holds]
        if not missing:
            return f"holds in all {len(known)} data sets"
        named = f" (not in {enumerated(missing, 'or')})" if len(missing) <= FEW_MISSING else _names(holds)
        return f"holds in {len(holds)} of {len(known)} data sets{named}"
    if len(found_in) == 1:
        return f"only in {found_in[0]}"
    return f"found in {len(found_in)} of {len(known)} data sets{_names(found_in)}, but carries over to none"


def _names(datasets: list[str]) -> str:
    return f" ({enumerated(datasets, 'and')})" if len(datasets) <= MOST_NAMED else ""


def said_numbers(row: Row) -> str:
    """Return the numbers behind `said_where`, each with its interval, without those that are unknown."""
    names = {
        "transfer": "transfer",
        "illusion": "illusion",
        "eta_squared": "variance between data sets",
        "r2_within": "variance explained within data sets",
    }
    return "; ".join(said for column, name in names.items() if (said := said_measure(row, column, name)))


def said_measure(row: Row, column: str, name: str) -> str:
    """Return a measure of a row of audit/neurons/ in words; an empty text if it is not known.

    A transfer and an illusion usually are between 0 and 1, so if the interval is wider than 1, they cannot be told.

    >>> said_measure({"transfer": 0.41, "transfer_low": 0.3, "transfer_high": 0.52}, "transfer", "transfer")
    'transfer 0.41 (0.30 to 0.52)'
    """
    value, low, high = (row[f"{column}{end}"] for end in ("", "_low", "_high"))
    if value is None:
        return ""
    if low is not None and high is not None and high - low > WIDEST:
        return f"{name} cannot be told"
    return f"{name} {number(value, '.2f')}{interval(low, high, '.2f')}"


def said_lifts(literal: Row) -> str:
    """Return a literal's lift in each data set, in words, from its row of audit/patterns/."""
    ends = ("log_lifts", "log_lifts_low", "log_lifts_high")
    lifts = []
    for name, *logs in zip(literal["dataset_names"], *(literal[end] for end in ends), strict=True):
        estimate, low, high = (None if value is None else lift(math.exp(min(value, _MOST))) for value in logs)
        lifts.append(f"{name} {estimate or 'not known'}" + (f" ({low} to {high})" if estimate and low and high else ""))
    return ", ".join(lifts)


def said_of_run(facts: Row, nothing: list[str]) -> list[str]:
    """Return what an audit found over all neurons in sentences, the most important first.

    `nothing` are the data sets whose own cards gain too little (`ops.facts.audit_findings.read_audit_findings`).
    """
    explained, datasets, verdicts = facts["explained"], len(facts["datasets"]), facts["verdicts"]
    if not explained:
        return [
            f"None of the {facts['audited']:,} audited neurons and poles has a rule that could hold in other data sets."
        ]
    counts = verdicts[NEURONS]
    holds = f"{counts['global']:,} hold{'s' if counts['global'] == 1 else ''}"
    sentences = [
        f"Of {explained:,} neurons and poles with a rule, {holds} in at least three quarters of the {datasets} data "
        f"sets. The rest: {counts['local']:,} local, {counts['dataset_detector']:,} that follow the data set, and "
        f"{counts['none']:,} that were confirmed within no single data set, where winners are fewer."
    ]
    if PERMUTED in verdicts:
        similar, many = verdicts[PERMUTED]["global"], sum(verdicts[PERMUTED].values())
        sentences.append(
            f"As a control, data sets were permuted over documents, which makes them similar. {similar:,} of {many:,} "
            "then hold in at least three quarters, and no larger share can be expected of the neurons themselves."
        )
    sentences += [*_said_transfer(facts), *_said_illusion(facts["illusion"])]
    if nothing:
        sentences.append(
            f"In {enumerated(nothing, 'and')} the data set's own cards gain less than {LEAST_GAIN} on average, so the "
            f"transfer into {'it' if len(nothing) == 1 else 'them'} is unknown."
        )
    literals = facts["literals"]
    if any(literals.values()):
        sentences.append(
            f"Verdicts of the {sum(literals.values()):,} literals in their explanations: {literals['global']:,} "
            f"global, {literals['local']:,} local, {literals['dataset']:,} with a lift above 1 only because data sets "
            f"differ, and {literals['none']:,} none of these."
        )
    return sentences


def _said_transfer(facts: Row) -> list[str]:
    transfer, controls = facts["transfer"][NEURONS], _controls_in_words(facts["transfer"])
    if transfer is None:
        return [
            "The data sets' own score cards gain nothing over those of random sets, so there is nothing to transfer."
        ]
    sentences = [
        f"Transfer is {number(transfer, '.2f')}: score cards of other data sets gain that share of what a data set's "
        "own cards gain."
    ]
    if controls:
        many = max(sum(counts.values()) for name, counts in facts["verdicts"].items() if name in _WHERE)
        controlled = facts["transfer_of_controlled"]
        known = f"Among the {many:,} with controls it is {number(controlled, '.2f')}, compared with "
        sentences.append(f"{'Controls: ' if controlled is None else known}{controls}.")
    return sentences


def _said_illusion(illusion: dict[str, float | None]) -> list[str]:
    if illusion[NEURONS] is None:
        return []
    controls = _controls_in_words(illusion)
    compared = f", compared with {controls}" if controls else ""
    return [
        f"The median neuron has an illusion of {number(illusion[NEURONS], '.2f')}{compared}. It is 0 where cards of "
        "other data sets do as well as the data set's own, and 1 where they do no better than those of random sets."
    ]


def _controls_in_words(numbers: dict[str, float | None]) -> str:
    known = [
        f"{number(numbers[name], '.2f')} {where}" for name, where in _WHERE.items() if numbers.get(name) is not None
    ]
    return enumerated(known, "and") if known else ""
