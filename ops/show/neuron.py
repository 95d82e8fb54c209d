"""One neuron as text, laid out like Table 2 of Oba 2021."""

from typing import Any

from ops.show.text import number, shorten

Rows = list[dict[str, Any]]

# Properties of `profiles/` that have a place of their own; every other one is shown under its name.
_WORD_CLASSES = (("noun", "Nouns"), ("verb", "Verbs"), ("adjective", "Adjectives"))
_PLACED = {"words_per_sentence", "tag", "tag_class", *(name for name, _ in _WORD_CLASSES)}
_PATTERNS = (("word", "Word patterns"), ("tag", "Part-of-speech patterns"), ("subtree", "Subtrees"))


def lay_out_neuron(
    neuron: dict[str, Any], pole: str, winners: Rows, patterns: Rows, profiles: Rows, means: Rows, rows: int, width: int
) -> str:
    """Return one neuron and pole as text.

    Args:
        neuron: its row of `neurons/`.
        pole: `top` or `bottom`.
        winners: its rows of `topk/` by rank, with the columns of `sentences/` beside them.
        patterns, profiles, means: its rows of these tables, by rank.
        rows: lines of each list.
        width: characters of a line.
    """
    count = max((w["rank"] for w in winners), default=0)
    lines = [
        f"Neuron {neuron['layer']}:{neuron['unit']}, {'highest' if pole == 'top' else 'lowest'} activations",
        f"{neuron['n']:,} sentences scored: mean {neuron['mean']:.4f}, standard deviation {neuron['std']:.4f}, "
        f"from {neuron['min']:.4f} to {neuron['max']:.4f}",
        f"{count:,} winners, mean {neuron[f'{pole}_mean']:.4f}, the last one {neuron[f'{pole}_threshold']:.4f}",
        "",
        "Sentences",
    ]
    for winner in winners[:rows]:
        source = f"  [{winner['dataset']}]"
        text = f"{winner['rank']:>5}  {winner['activation']:>8.4f}  {winner['text']}"
        lines.append(shorten(text, width - len(source)) + source)
    for name, title in _WORD_CLASSES:
        lines += _table(title, [p for p in profiles if p["property"] == name][:rows], "value", "count", width)
    for kind, title in _PATTERNS:
        lines += _table(title, [p for p in patterns if p["kind"] == kind][:rows], "pattern", "support", width)
    tags = sorted((p for p in profiles if p["property"] == "tag"), key=lambda p: -p["share"])
    lines += _table("Tags, by share of the tokens", tags[:rows], "value", "count", width)
    names = sorted({p["property"] for p in profiles} - _PLACED, key=lambda name: (name != "dataset", name))
    for name in names:
        own = [p for p in profiles if p["property"] == name and p["count"]]
        lines += _table(name.capitalize() if name == "dataset" else name, own[:rows], "value", "count", width)
    if means:
        lines += ["", f"{'Means':<40}{'winners':>12}{'baseline':>12}"]
        for mean in means:
            name = mean["property"].replace("_", " ")
            lines.append(f"  {name:<38}{mean['mean']:>12.2f}{number(mean['baseline_mean'], 12, 2)}")
    return "\n".join(lines)


def _table(title: str, rows: Rows, name: str, count: str, width: int) -> list[str]:
    """Return the lines of a list of patterns or values, whose text and number stand in the columns named."""
    if not rows:
        return []
    titles = f"{'count':>8}{'share':>8}{'baseline':>10}{'lift':>8}{'G2':>10}"
    room = max(width - len(titles) - 2, 16)
    lines = ["", f"{shorten(title, room + 2):<{room + 2}}{titles}"]
    for row in rows:
        label = shorten(row[name], room - 2) + (" *" if _few_documents(row) else "")
        lines.append(
            f"  {label:<{room}}{row[count]:>8,}{row['share']:>8.3f}{number(row['baseline_share'], 10, 4)}"
            f"{number(row['lift'], 8, 2)}{number(row['g2'], 10, 1)}"
        )
    return [*lines, "  * most of these come from few documents"] if any(map(_few_documents, rows)) else lines


def _few_documents(row: dict[str, Any]) -> bool:
    """Tell whether a pattern's support comes from far fewer documents than sentences."""
    return "docs" in row and row["docs"] * 4 <= row["support"]
