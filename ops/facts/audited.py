"""What an audit says about one neuron and pole: the data sets in which its explanation holds, and the lifts there."""

import math
from typing import Any

from ops.facts.text import enumerated, lift
from ops.facts.transfers import in_words

Row = dict[str, Any]
Rows = list[Row]

FEW_MISSING = 2  # the data sets in which it does not hold are named if there are at most this many
MOST_NAMED = 6  # otherwise those in which it holds are named, if there are at most this many
_MOST = 700.0  # a log lift whose exponential is still finite


def joined(row: Row, patterns: Rows, pairs: Rows) -> Row:
    """Return a row of audit/neurons/, extended with data from the other tables.

    Args:
        row: the row.
        patterns: rows of audit/patterns/ for its neuron.
        pairs: rows of audit/portability/ for its neuron, from a data set to itself.

    Returns:
        The row with `known_in`, the data sets in which it has enough winners; `said`, one line that says where it
        holds; and `literals`, the rows of audit/patterns/ for its winners' model, by rank.
    """
    known = sorted(
        pair["dataset_to"]
        for pair in pairs
        if pair["pole"] == row["pole"]
        and pair["average_precision"] is not None
        and pair["random_precision"] is not None
    )
    literals = [p for p in patterns if p["model"] == "winners" and p["pole"] == row["pole"]]
    return row | {
        "known_in": known,
        "said": said_where(row, known),
        "literals": sorted(literals, key=lambda p: p["rank"]),
    }


def said_where(row: Row, known: list[str]) -> str:
    """Return in words in which data sets the explanation of a neuron and pole holds.

    Args:
        row: a row of audit/neurons/.
        known: the data sets in which it has enough winners.

    >>> row = {"verdict": "global", "ported": 2, "holds_in": ["books", "news"], "found_in": ["news"]}
    >>> said_where(row, ["books", "news", "tweets"])
    'holds in 2 of 3 data sets (not in tweets)'
    """
    holds, found = row["holds_in"], row["found_in"]
    if row["verdict"] == "dataset_detector":
        return "follows the data set rather than language"
    if len(known) < 2:
        return "has enough winners to tell in only one data set" if known else "has too few winners to tell"
    if row["verdict"] == "none":
        return "its winners cannot be distinguished in any data set"
    if holds:
        missing = [name for name in known if name not in holds]
        if not missing:
            return f"holds in all {len(known)} data sets"
        named = f" (not in {enumerated(missing, 'or')})" if len(missing) <= FEW_MISSING else _names(holds)
        return f"holds in {len(holds)} of {len(known)} data sets{named}"
    if len(found) == 1:
        return f"only in {found[0]}"
    return f"found in {len(found)} of {len(known)} data sets{_names(found)}, but carries over to none"


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
    """Return a measure of a row of audit/neurons/ in words; an empty text if it is not known."""
    if row[column] is None:
        return ""
    return f"{name} {in_words(row[column], row[f'{column}_low'], row[f'{column}_high'])}"


def said_lifts(literal: Row) -> str:
    """Return a literal's lift in each data set, in words.

    Args:
        literal: a row of audit/patterns/.
    """
    ends = ("log_lifts", "log_lifts_low", "log_lifts_high")
    columns = zip(literal["dataset_names"], *(literal[end] for end in ends), strict=True)
    said = []
    for name, own, low, high in columns:
        if own is None:
            said.append(f"{name} not known")
            continue
        ends_of = f" ({_times(low)} to {_times(high)})" if None not in (low, high) else ""
        said.append(f"{name} {_times(own)}{ends_of}")
    return ", ".join(said)


def _names(datasets: list[str]) -> str:
    return f" ({enumerated(datasets, 'and')})" if len(datasets) <= MOST_NAMED else ""


def _times(log_lift: float) -> str:
    return lift(math.exp(min(log_lift, _MOST)))
