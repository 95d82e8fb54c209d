"""What is said about texts, in words and as lists."""

from collections.abc import Mapping
from typing import Any

from ops.errors import counted, visible
from ops.facts.listing import Listing
from ops.facts.text import in_brief, plain, short_percent, wrap
from ops.respond.common import DRAWS
from ops.respond.measure import OUTER, TWENTIETH
from ops.respond.reference import LEAST
from ops.show.listing import lines_of
from ops.topk.unit_names import UnitNames

Row = dict[str, Any]

UNUSUAL, LEGEND_LIKE = 0.05, "like: the tail among sentences of about its length"
LEGEND = (
    "tail: the share of the corpus at least this far out, at both ends together; {like}z: standard deviations from "
    "the mean; winner: its rank among the {one}'s winners; peak: the word at which the {one} peaks"
)
LEGEND_OF_FEATURES = (
    "tail: the share of the corpus with at least this activation; {like}z: standard deviations from the mean; winner: "
    "its rank among the feature's winners; peak: the word at which the feature peaks"
)


def said_of_text(facts: Row, names: UnitNames) -> list[str]:
    """Return what is said of a text before its units are listed, in sentences.

    Args:
        facts: the facts, as `text_facts` returns them.
        names: the names of the run's units.
    """
    said = []
    if facts["sent_id"] is not None:
        said.append(f"It is sentence {facts['sent_id']} of the corpus ({facts['dataset']}), which is left out of all counts.")
    said += facts["notes"]
    outer, units = facts["outer"], counted(facts["units"], names.one)
    head = f"{outer:,} of {units} are in the outer {OUTER:.0%} of the corpus".replace("%", " %")
    if not facts["reference"]:
        return [*said, f"{head}. Fewer than {LEAST} sentences of the activation sample are about as long, so that it is "
                "compared with none of them."]  # fmt: skip
    more, low, median, high = (facts[n] for n in ("share_with_more", "outer_q05", "outer_q50", "outer_q95"))
    verdict = "unusually many" if outer > high else "unusually few" if outer < low else "not unusual"
    said.append(
        f"{head}: {verdict}. Of {facts['reference']:,} sentences of the corpus that are about as long "
        f"({facts['fewest_tokens']} to {facts['most_tokens']} tokens), {short_percent(more)} have more; their median is "
        f"{median:,.0f}, and 90 % have {low:,.0f} to {high:,.0f}."
    )
    if facts["tail_20"] is not None and facts["tail_20_q50"] is not None:
        said.append(
            f"Its {TWENTIETH}th most unusual {names.one} has a tail of {_tail(facts['tail_20'])}, and the "
            f"{TWENTIETH}th of the median sentence {_tail(facts['tail_20_q50'])}."
        )
    return said


def said_of_common(facts: Row, names: UnitNames) -> str:
    """Return in a sentence how many units are outer for most of several texts."""
    units = counted(facts["units"], names.one)
    said = f"In common: {units} {'is' if facts['units'] == 1 else 'are'} in the outer {OUTER:.0%}".replace("%", " %")
    said += f" of the corpus, at one end, for most of the {facts['texts']:,} texts. "
    if not facts["draws"]:
        return said + "A text without sentences of its length leaves nothing to compare this with."
    return said + (
        f"Of {DRAWS} draws of as many sentences of the same lengths, the median has {facts['draws_q50']:,.0f} in common, "
        f"and 95 % have at most {facts['draws_q95']:,.0f}."
    )


def unit_listing(facts: Row, winners: int, names: UnitNames, is_layered: str = "") -> Listing:
    """Return the list of a text's units; `is_layered` says which layer they are from, if from one alone."""
    like = bool(facts["reference"])
    columns = [
        (names.one, "{layer}:{unit} {pole}"), ("activation", "{activation:activation}"), ("z", "{z:+.1f}"),
        ("tail", "{tail_said}"), *([("like", "{like_said}")] if like else []), ("winner", "{winner}"),
        ("peak", "{peak_said}"), ("verdict", "{verdict_said}"), ("responds to", "{said}"),
    ]  # fmt: skip
    rows = [row | _said(row, winners) for row in facts["rows"]]
    form = LEGEND if not names.sources or any("bottom" == row["pole"] for row in rows) else LEGEND_OF_FEATURES
    note = form.format(like=f"{LEGEND_LIKE}; " if like else "", one=names.one)
    return Listing.of(f"Its most unusual {names.many}{is_layered}", columns, rows, [note])


def common_listing(facts: Row, names: UnitNames) -> Listing:
    """Return the list of the units that texts have in common."""
    columns = [
        (names.one, "{layer}:{unit} {pole}"), ("texts", "{texts:,}"), ("verdict", "{verdict_said}"),
        ("responds to", "{said}"),
    ]  # fmt: skip
    return Listing.of("", columns, [row | _explained(row) for row in facts["rows"]])


def lay_out_text(facts: Row, winners: int, names: UnitNames, width: int, layer: int | None = None) -> list[str]:
    """Return a text, what is said of it, and its units, as lines."""
    listing = unit_listing(facts, winners, names, "" if layer is None else f" of layer {layer}")
    said = [f'"{visible(facts["text"])}"', *said_of_text(facts, names)]
    return [*(line for one in said for line in wrap(one, width).split("\n")), *lines_of(listing, width)]


def lay_out_common(facts: Row, names: UnitNames, width: int) -> list[str]:
    """Return what several texts have in common, as lines."""
    return [*wrap(said_of_common(facts, names), width).split("\n"), *lines_of(common_listing(facts, names), width)]


def _said(row: Row, winners: int) -> dict[str, str]:
    peak, alike = row.get("peak"), row["alike"]
    explained = _explained(row)
    others = f"(and {alike} like it) " if alike else ""
    return explained | {
        "said": others + explained["said"],
        "tail_said": _tail(row["tail"]), "like_said": _tail(row["tail_like"]),
        "winner": "-" if row["rank"] is None else f"{row['rank']:,} of {winners:,}",
        "peak_said": "-" if peak is None else peak,
    }  # fmt: skip


def _explained(row: Mapping[str, Any]) -> dict[str, str]:
    known = row["explanation"]
    return {"said": "-" if known is None else in_brief(known), "verdict_said": plain(row["verdict"] or "-")}


def _tail(value: float | None) -> str:
    return "-" if value is None else f"{value:.2g}" if value >= 1e-4 else f"{value:.0e}"
