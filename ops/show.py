"""Results as text: one neuron, laid out like Table 2 of Oba 2021; one attention head, like Table 2 of Maeda 2024."""

from typing import Any

Rows = list[dict[str, Any]]

# Properties of `profiles/` that have a place of their own; every other one is shown under its name.
_WORD_CLASSES = (("noun", "Nouns"), ("verb", "Verbs"), ("adjective", "Adjectives"), ("punctuation", "Punctuation"))
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
        lines.append(_shorten(text, width - len(source)) + source)
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
            lines.append(f"  {name:<38}{mean['mean']:>12.2f}{_number(mean['baseline_mean'], 12, 2)}")
    return "\n".join(lines)


def lay_out_head(layer: int, head: int, clusters: Rows, contextual: Rows, rows: int, width: int) -> str:
    """Return one attention head as text: the clusters of tokens that it stretches most.

    Args:
        layer, head: layer from 1, head from 0.
        clusters: its rows of `psi/clusters`, by rank.
        contextual: the tokens of highest mean psi_qkv over the corpus, with `token`, `n`, `psi_qkv_mean` and
            `psi_qkv_std`; none where no corpus was read.
        rows: lines of each list.
        width: characters of a line.
    """
    titles = (
        f"{'rank':>6}{'psi_qkv':>9}{'z':>8}{'relative':>10}{'psi_q':>7}{'psi_k':>7}{'psi_v':>7}{'n':>7}  {'type':<9}"
    )
    room = max(width - len(titles), 16)
    lines = [
        f"Head {head} of layer {layer} (L{layer - 1}-H{head} where layers count from 0, as in Maeda 2024)",
        f"{len(clusters):,} clusters of the vocabulary by psi_qkv, the word embeddings alone",
        "",
        f"{titles}tokens nearest to the centroid",
    ]
    for c in clusters[:rows]:
        numbers = (
            f"{c['rank']:>6}{_number(c['psi_qkv'], 9, 2)}{_number(c['z_qkv'], 8, 1)}{_number(c['relative_qkv'], 10, 2)}"
            f"{_number(c['psi_q'], 7, 2)}{_number(c['psi_k'], 7, 2)}{_number(c['psi_v'], 7, 2)}{c['n']:>7,}"
        )
        lines.append(f"{numbers}  {c['type']:<9}{_shorten(' '.join(c['tokens']), room)}")
    lines += [
        "",
        "z: standard deviations from a random group of as many tokens. relative: over what a random direction gives.",
        "A cluster of one token or two leads by chance more easily than a large one: trust z beside psi_qkv.",
    ]
    if contextual:
        lines += ["", f"{'psi_qkv':>9}{'std':>8}{'n':>9}  tokens over the corpus, by their mean"]
        for t in contextual[:rows]:
            lines.append(f"{t['psi_qkv_mean']:>9.2f}{t['psi_qkv_std']:>8.2f}{t['n']:>9,}  {t['token']}")
    return "\n".join(lines)


def _table(title: str, rows: Rows, name: str, count: str, width: int) -> list[str]:
    """Return the lines of a list of patterns or values, whose text and number stand in the columns named."""
    if not rows:
        return []
    titles = f"{'count':>8}{'share':>8}{'baseline':>10}{'lift':>8}{'G2':>10}"
    room = max(width - len(titles) - 2, 16)
    lines = ["", f"{_shorten(title, room + 2):<{room + 2}}{titles}"]
    for row in rows:
        label = _shorten(row[name], room - 2) + (" *" if _few_documents(row) else "")
        lines.append(
            f"  {label:<{room}}{row[count]:>8,}{row['share']:>8.3f}{_number(row['baseline_share'], 10, 4)}"
            f"{_number(row['lift'], 8, 2)}{_number(row['g2'], 10, 1)}"
        )
    return [*lines, "  * most of these come from few documents"] if any(map(_few_documents, rows)) else lines


def _few_documents(row: dict[str, Any]) -> bool:
    """Tell whether a pattern's support comes from far fewer documents than sentences."""
    return "docs" in row and row["docs"] * 4 <= row["support"]


def _number(value: float | None, width: int, digits: int) -> str:
    return f"{'-':>{width}}" if value is None else f"{value:>{width}.{digits}f}"


def _shorten(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(width - 3, 1)] + "..."
