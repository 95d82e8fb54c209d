"""What is said about texts, in words and as lists."""

from ops.errors import visible
from ops.facts.listing import Listing
from ops.facts.rows import Row
from ops.facts.text import in_brief, plain, short_percent, shorten, wrap
from ops.respond.corpus import LEAST
from ops.respond.measure import DRAWS
from ops.respond.tails import OUTER
from ops.topk.unit_names import UnitNames

INDENT = 6  # of an explanation below the numbers of its unit


def said_of_text(facts: Row, names: UnitNames) -> list[str]:
    """Return what is said of a text before its units are listed, in sentences, from its `text_facts`."""
    said = []
    if facts["sent_id"] is not None:
        said.append(f"It is sentence {facts['sent_id']} of the corpus ({facts['dataset']}), left out of all counts.")
    said += facts["notes"]
    outer, units = facts["outer"], names.counted(facts["units"])
    head = f"{outer:,} of {units} {_are_outer(outer)}"
    if not facts["reference"]:
        few = f"Fewer than {LEAST} sentences of the activation sample are about as long, so it is compared with none."
        return [*said, f"{head}. {few}"]
    more, low, median, high = (facts[n] for n in ("share_with_more", "outer_q05", "outer_q50", "outer_q95"))
    verdict = "unusually many" if outer > high else "unusually few" if outer < low else "not unusual"
    said.append(
        f"{head}: {verdict}. Of {facts['reference']:,} sentences of the corpus that are about as long "
        f"({facts['fewest_tokens']} to {facts['most_tokens']} tokens), {short_percent(more)} have more; the median has "
        f"{median:,.0f}, and 90 % have {low:,.0f} to {high:,.0f}."
    )
    return said


def said_of_common(facts: Row, names: UnitNames) -> str:
    """Return in a sentence how many units are outer for most of several texts."""
    said = (
        f"In common: {names.counted(facts['units'])} {_are_outer(facts['units'])}, at one end, for most of the "
        f"{facts['texts']:,} texts. "
    )
    if not facts["draws"]:
        return said + "A text without sentences of its length leaves nothing to compare this with."
    return said + (
        f"Of {DRAWS} draws of as many sentences of these lengths, the median has {facts['draws_q50']:,.0f} in common, "
        f"and 95 % have at most {facts['draws_q95']:,.0f}."
    )


def _are_outer(units: int) -> str:
    return f"{'is' if units == 1 else 'are'} in the outer {short_percent(OUTER)} of the corpus"


def legend(facts: Row, names: UnitNames) -> str:
    """Return what the columns of the list of a text's units mean."""
    one, has_family = names.one, any(row["alike"] for row in facts["rows"])
    ends = "with at least this activation" if one == "feature" else "at least this far out, at both ends together"
    said = [f"tail: share of the corpus {ends}"]
    said += ["like: tail among sentences of about its length"] if facts["reference"] else []
    said += [
        "z: standard deviations from the mean",
        f"winner: rank among the {one}'s winners",
        "peak: word at its peak",
    ]
    said += [f"family: others that go together with the {one} and are as far out"] if has_family else []
    return "; ".join(said)


def lay_out_text(facts: Row, winners: int, names: UnitNames, width: int, layer: int | None = None) -> list[str]:
    """Return a text, what is said of it, and its units, as lines, from its `text_facts`.

    Args:
        winners: the number of winners of a pole.
        layer: the layer to which the list is limited; None for all.
    """
    has_family = any(row["alike"] for row in facts["rows"])
    columns = [
        (names.one, "{layer}:{unit} {pole}"), ("activation", "{activation:activation}"), ("z", "{z:+.1f}"),
        ("tail", "{tail:tail}"), *([("like", "{tail_like:tail}")] if facts["reference"] else []),
        ("winner", "{winner}"), ("peak", "{peak_said}"), *([("family", "{alike_said}")] if has_family else []),
    ]  # fmt: skip
    about = f"Its most unusual {names.many}{'' if layer is None else f' of layer {layer}'}"
    listing = Listing.of(about, columns, [row | _said(row, winners) for row in facts["rows"]])
    said = [f'"{visible(facts["text"])}"', *said_of_text(facts, names)]
    lines = [line for one in said for line in wrap(one, width).split("\n")]
    return [*lines, *_with_explanations(listing, facts["rows"], width)]


def lay_out_common(facts: Row, names: UnitNames, width: int) -> list[str]:
    """Return what several texts have in common, as lines."""
    columns = [(names.one, "{layer}:{unit} {pole}"), ("texts", "{texts:,} of {all:,}")]
    listing = Listing.of("", columns, [row | {"all": facts["texts"]} for row in facts["rows"]])
    lines = wrap(said_of_common(facts, names), width).split("\n")
    more = [f"and {facts['units'] - len(facts['rows']):,} more"] if facts["units"] > len(facts["rows"]) else []
    return [*lines, *_with_explanations(listing, facts["rows"], width), *more]


def _with_explanations(listing: Listing, rows: list[Row], width: int) -> list[str]:
    """Return the lines of a list, with the explanation of each row, without its numbers, below it."""
    lines = listing.lines(width)
    for place, row in reversed([*enumerate(rows, len(lines) - len(rows) + 1)]):
        if row["explanation"]:
            said = f"{plain(row['verdict'])}: {in_brief(row['explanation'])}"
            lines.insert(place, shorten(f"{'':{INDENT}}{visible(said)}", width))
    return lines


def _said(row: Row, winners: int) -> dict[str, str]:
    return {
        "winner": "-" if row["rank"] is None else f"{row['rank']:,} of {winners:,}",
        "peak_said": "-" if row["peak"] is None else visible(row["peak"]),
        "alike_said": f"+{row['alike']}" if row["alike"] else "",
    }  # fmt: skip
