"""Evaluation of a pipeline's tags and trees on test sentences; brackets are counted as in evalb."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

from ops.english.training.treebank import Sentence, sentence_of_tree
from ops.errors import InputError
from ops.penn import ROOT, Tree, leaves, read

DOCS_PER_BATCH = 256
PUNCTUATION = frozenset([",", ":", "``", "''", "."])
# Words, or words with these tags, that are written without a space before or after them.
_CLOSING = frozenset([",", ".", ":", "''", "-RRB-", "POS"])
_OPENING = frozenset(["-LRB-", "``", "$"])
_CLITICS = frozenset(["n't", "'s", "'re", "'ve", "'ll", "'d", "'m", "%"])


@dataclass(frozen=True, slots=True)
class Agreement:
    """The number of brackets in both trees, in the gold tree and in the predicted tree."""

    matched: int = 0
    gold: int = 0
    predicted: int = 0

    def __add__(self, other: "Agreement") -> "Agreement":
        return Agreement(self.matched + other.matched, self.gold + other.gold, self.predicted + other.predicted)


@dataclass(frozen=True, slots=True)
class Scores:
    """The numbers of words and of correctly tagged words, and the agreement of brackets (None without trees)."""

    words: int
    right: int
    brackets: Agreement | None

    def row(self) -> dict[str, float]:
        """Return the scores in percent, rounded to two decimal places; a share of no brackets is 100.

        A word that is tokenized differently counts as tagged wrong.
        """
        parts = {"tag_accuracy": (self.right, self.words)}
        if self.brackets is not None:
            matched, gold, predicted = self.brackets.matched, self.brackets.gold, self.brackets.predicted
            parts |= {"precision": (matched, predicted), "recall": (matched, gold)}
            parts["f1"] = 2 * matched, gold + predicted
        return {name: round(100 * part / whole, 2) if whole else 100.0 for name, (part, whole) in parts.items()}


def score(
    nlp: Language, tests: Mapping[str, Sequence[Sentence]], progress: Callable[[str], None] = print
) -> dict[str, Any]:
    """Return the scores of a pipeline on each test file, with gold tokens and from raw text; print a line for each."""
    scores: dict[str, Any] = {}
    for name, sentences in tests.items():
        scores[name] = {"gold_tokens": evaluate(nlp, sentences).row()}
        scores[name]["raw_text"] = evaluate(nlp, sentences, raw=True).row()
        for tokens, row in scores[name].items():
            progress(f"{name} {tokens}: " + ", ".join(f"{figure} {value:.2f}" for figure, value in row.items()))
    return scores


def evaluate(nlp: Language, sentences: Sequence[Sentence], *, raw: bool = False) -> Scores:
    """Return the scores of a pipeline on sentences.

    Each sentence is one Doc, made from its gold words or, if `raw` is set, from running text.
    """
    docs = (
        nlp.make_doc(raw_text(sentence.words, sentence.tags)) if raw else Doc(nlp.vocab, words=sentence.words)
        for sentence in sentences
    )
    parsed = [sentence_of_doc(doc) for doc in nlp.pipe(docs, batch_size=DOCS_PER_BATCH)]
    return compare(sentences, parsed)


def raw_text(words: Sequence[str], tags: Sequence[str]) -> str:
    """Return the text of a sentence, with no space inside hyphenated words, before clitics and closing punctuation.

    >>> raw_text("I do n't know ( yet ) .".split(), "PRP VBP RB VB -LRB- RB -RRB- .".split())
    "I don't know (yet)."
    """
    pieces: list[str] = []
    attach = True
    for word, tag in zip(words, tags, strict=True):
        closing = tag in _CLOSING and not word.startswith(("-", "\u2013", "\u2014"))
        if not attach and not closing and tag != "HYPH" and word.lower().replace("\u2019", "'") not in _CLITICS:
            pieces.append(" ")
        pieces.append(word)
        attach = tag in _OPENING or tag == "HYPH"
    return "".join(pieces)


def compare(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> Scores:
    """Return the scores of predicted sentences over the same characters as the gold ones, in the same order."""
    words = right = 0
    brackets = None
    for one, other in zip(gold, predicted, strict=True):
        words += len(one.words)
        right += len(_spans(one) & _spans(other))
        if one.tree is not None and other.tree is not None:
            brackets = (brackets or Agreement()) + agreement(one.tree, other.tree)
    return Scores(words, right, brackets)


def agreement(gold: Tree, predicted: Tree) -> Agreement:
    """Return the agreement in label and span of two trees over the same characters.

    ROOT and punctuation are ignored, and PRT counts as ADVP. Spans are measured in characters of the words, so that the
    trees may differ in tokenization. The gold tags decide which characters are punctuation.

    Raises:
        InputError: the characters differ.

    >>> from ops.penn import read
    >>> gold = read("(ROOT (S (NP (PRP I)) (VP (VBP sleep)) (. .)))")
    >>> agreement(gold, read("(ROOT (S (NP (PRP I)) (NP (NN sleep)) (. .)))"))
    Agreement(matched=2, gold=3, predicted=3)
    """
    text, other = ("".join(leaf.word or "" for leaf in leaves(tree)) for tree in (gold, predicted))
    if text != other:
        raise InputError(f"predicted tree over {other[:60]!r}, expected the gold tree's words {text[:60]!r}")
    counted: list[int] = [0]
    for leaf in leaves(gold):
        step = 0 if leaf.label in PUNCTUATION else 1
        for _ in leaf.word or "":
            counted.append(counted[-1] + step)
    ours, theirs = brackets(gold, counted), brackets(predicted, counted)
    return Agreement((ours & theirs).total(), ours.total(), theirs.total())


def brackets(tree: Tree, counted: list[int]) -> "Counter[tuple[str, int, int]]":
    """Return every phrase as (label, start, stop) with its number of occurrences, without leaves and ROOT.

    Args:
        tree: the tree.
        counted: for each position between characters, the number of counted characters before it, `[characters + 1]`;
            phrases without a counted character are skipped.
    """
    phrases: Counter[tuple[str, int, int]] = Counter()
    position = 0
    stack: list[tuple[Tree, int]] = [(tree, -1)]
    while stack:
        node, start = stack.pop()
        if node.word is not None:
            position += len(node.word)
        elif start < 0:
            stack.append((node, position))
            stack.extend((child, -1) for child in reversed(node.children))
        else:
            span = counted[start], counted[position]
            if node.label != ROOT and span[0] < span[1]:
                phrases["ADVP" if node.label == "PRT" else node.label, *span] += 1
    return phrases


def sentence_of_doc(doc: Doc) -> Sentence:
    """Return the words, tags and tree of an annotated Doc; its sentences' trees become siblings under one ROOT."""
    trees = [read(tree) for sentence in doc.sents if (tree := sentence._.parse_string)]
    found = sentence_of_tree(Tree(ROOT, [child for tree in trees for child in tree.children]))
    tags = [token.tag_ for token in doc if not token.is_space]
    return Sentence(found.words, tags, found.tree)


def _spans(sentence: Sentence) -> set[tuple[int, int, str]]:
    spans = set()
    start = 0
    for word, tag in zip(sentence.words, sentence.tags, strict=True):
        spans.add((start, start + len(word), tag))
        start += len(word)
    return spans
