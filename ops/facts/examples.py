"""Find where a winner contains a pattern, and the word at which its neuron peaks: words, and positions in its text."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ops.penn import PUNCTUATION_TAGS, ROOT, Tree, leaves, read, walk
from ops.sentences.word_spans import Span, word_spans, words_of_tokens

MARKED = 3  # the words of this many findings are marked
FEW_WORDS = 4  # a subtree that matches more words is not marked, since it would be most of the sentence
COMMON = 0.4  # a finding with at least this share of the corpus is not marked, since it says little
_TREES_KEPT = 256  # trees in the cache, since a neuron's sentences are searched for one pattern after another


def matched_words(sentence: dict[str, Any], pattern: dict[str, Any], options: dict[str, Any]) -> list[int] | None:
    """Return the positions of the words in a pattern's first match in a sentence, or None if it has no match.

    These are rows of `patterns/` (`kind`, `pattern`, `items`) and `sentences/` (`words`, `tags`, `tree`), and the
    options are those of `mine`.
    """
    kind = pattern["kind"]
    if kind == "subtree":
        return _matched_leaves(sentence["tree"], pattern["pattern"], options["subtree_root"] == "collapse")
    words, tags = sentence["words"], sentence["tags"]
    if words is None or tags is None or len(words) != len(tags):
        return None
    marks = PUNCTUATION_TAGS if options["punctuation"] == "drop" else ()
    kept = [i for i, tag in enumerate(tags) if tag not in marks]
    if kind == "word" and options["word_case"] == "lower":
        words = [word.lower() for word in words]
    items = [(words if kind == "word" else tags)[i] for i in kept]
    matched = match_in_order(items, pattern["items"], options[f"{kind}_max_gap"])
    return None if matched is None else [kept[i] for i in matched]


def match_in_order(items: Sequence[str], pattern: Sequence[str], max_gap: int) -> list[int] | None:
    """Return the positions of the first match of a pattern of at least one item, or None.

    `max_gap` items may be skipped between neighbours; -1 means any number.

    >>> match_in_order("a b x c b c".split(), ["b", "c"], 0), match_in_order("b x x c".split(), ["b", "c"], 1)
    ([4, 5], None)
    """
    reach = max_gap + 1 if max_gap >= 0 else len(items)
    partial = [[i] for i, item in enumerate(items) if item == pattern[0]]
    for wanted in pattern[1:]:
        # One partial match for each position at which it may end is enough, so the first one is kept.
        longer: dict[int, list[int]] = {}
        for places in partial:
            for i in range(places[-1] + 1, min(places[-1] + reach + 1, len(items))):
                if items[i] == wanted:
                    longer.setdefault(i, [*places, i])
        partial = [longer[i] for i in sorted(longer)]
    return partial[0] if partial else None


def spans_of_words(text: str, words: Sequence[str], places: Sequence[int]) -> list[Span]:
    """Return the spans of these words in a text, `(start, end)` in characters. Neighbouring words share one span.

    A word that does not occur literally in the text (a pipeline may normalise words) has no span.
    """
    by_word, spans = word_spans(text, words), list[Span]()
    before = -2
    for i in sorted(set(places)):
        span = by_word[i]
        if span is None:
            continue
        if before == i - 1 and spans:
            spans[-1] = (spans[-1][0], span[1])
        else:
            spans.append(span)
        before = i
    return spans


def spans_of_findings(sentence: dict[str, Any], rows: Sequence[dict[str, Any]], options: dict[str, Any]) -> list[Span]:
    """Return the spans of a winner's words that belong to the first findings that can be marked, in ascending order.

    `rows` are findings (see `ops.facts.findings`), the strongest first.
    """
    able = [row for row in rows if row["kind"] not in ("form", "value") and (row["baseline_share"] or 0.0) < COMMON]
    places = {place for row in able[:MARKED] for place in _marked_words(sentence, row, options)}
    return spans_of_words(sentence["text"], sentence["words"] or [], sorted(places))


def _marked_words(sentence: dict[str, Any], row: dict[str, Any], options: dict[str, Any]) -> list[int]:
    words, tags, kind, items = sentence["words"] or [], sentence["tags"] or [], row["kind"], row["items"]
    if kind in ("word_class", "mark") or (kind == "word" and len(items) == 1):
        wanted = {row["text"]} if kind == "mark" else {item.lower() for item in items}
        return [i for i, word in enumerate(words) if (word if kind == "mark" else word.lower()) in wanted]
    if kind == "tag" and len(items) == 1 and len(tags) == len(words):
        return [i for i, tag in enumerate(tags) if tag == items[0]]
    if "pattern" not in row:
        return []
    matched = matched_words(sentence, row, options) or []
    return matched if kind != "subtree" or len(matched) <= FEW_WORDS else []


def _matched_leaves(tree: str | None, pattern: str, collapse: bool) -> list[int] | None:
    """Return the words below the nodes that match a pattern's leaves, for its first match in a tree."""
    if tree is None:
        return None
    root, number = _read_numbered(tree, collapse)
    matches = (embeds(node, read_pattern(pattern)) for node in walk(root))
    ends = next((match for match in matches if match is not None), None)
    return None if ends is None else sorted({number[id(leaf)] for end in ends for leaf in leaves(end)})


@lru_cache(_TREES_KEPT)
def _read_numbered(tree: str, collapse: bool) -> tuple[Tree, dict[int, int]]:
    """Return a tree, without an S right below its root if that collapses, and the number of each leaf by id."""
    root = read(tree)
    number = {id(leaf): i for i, leaf in enumerate(leaves(root))}
    if collapse and root.label == ROOT:
        root.children = [c for child in root.children for c in (child.children if child.label == "S" else [child])]
    return root, number


@lru_cache(_TREES_KEPT)
def read_pattern(text: str) -> Tree:
    """Return a subtree pattern, such as `(NP (DT) (NN))`, as a tree. Its leaves have the word `*`."""
    return read(re.sub(r"\(([^\s()]+)\)", r"(\1 *)", text))


def embeds(node: Tree, wanted: Tree) -> list[Tree] | None:
    """Return the nodes that match a subtree pattern's leaves if it matches at this node, or None."""
    if node.label != wanted.label:
        return None
    if not wanted.children:
        return [node]
    ends: list[Tree] = []
    rest = iter(node.children)
    for child in wanted.children:
        # The earliest child that fits leaves the most for those to its right.
        nodes = next((e for c in rest if (e := embeds(c, child)) is not None), None)
        if nodes is None:
            return None
        ends += nodes
    return ends


def peak_word(tokens: dict[str, Any], sentence: dict[str, Any], first_counts: bool = True) -> dict[str, Any] | None:
    """Return the word whose token has the highest activation (for `bottom`, the lowest). None if no token has a word.

    `tokens` is the winner's row of `token_activations/`; its first token may not count. The word has its `place` among
    the words, `word`, `tag` (None without tags), `span` (its characters in the text) and `activation` (the neuron's at
    that token).
    """
    text, words, tags = sentence["text"], sentence["words"] or [], sentence["tags"]
    pairs = zip(tokens["starts"], tokens["ends"], strict=True)
    placed = [None if start is None else (start, end) for start, end in pairs]
    spans = word_spans(text, words)
    at = words_of_tokens(placed, spans).tolist()
    sign = 1 if tokens["pole"] == "top" else -1
    values = tokens["activations"]
    able = (i for i, word in enumerate(at) if word >= 0 and (i or first_counts))
    best = max(able, key=lambda i: sign * values[i], default=None)
    if best is None:
        return None
    place = at[best]
    tag = tags[place] if tags else None
    return {"place": place, "word": words[place], "tag": tag, "span": spans[place], "activation": values[best]}
