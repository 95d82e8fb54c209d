"""Variants of training sentences, for text unlike edited prose: tweets, headlines, several joined sentences."""

from collections.abc import Callable, Sequence
from random import Random

from ops.english.training.treebank import Sentence, sentence_of_tree
from ops.penn import ROOT, Tree

CASES: tuple[Callable[[str], str], ...] = (str.lower, str.upper, str.title)
USER = "@user"


def vary(sentence: Sentence, others: Sequence[Sentence], random: Random, rate: float) -> Sentence:
    """Return a variant of a sentence; each kind of change is made with probability `rate` (`rate / 2` for an @name).

    The changes are: drop the full stop; append a sentence of `others`, with both trees under one ROOT; put an @name
    before it; write it in lower case, in capitals or in title case.
    """
    if random.random() < rate:
        sentence = without_stop(sentence)
    if random.random() < rate:
        sentence = joined(sentence, random.choice(others))
    if random.random() < rate / 2:
        sentence = addressed(sentence)
    if random.random() < rate:
        sentence = recased(sentence, random.choice(CASES))
    return sentence


def without_stop(sentence: Sentence) -> Sentence:
    """Return the sentence without its final punctuation, if this is directly below the topmost phrase."""
    if sentence.tags[-1] != "." or len(sentence.words) < 2:
        return sentence
    if sentence.tree is None:
        return Sentence(sentence.words[:-1], sentence.tags[:-1])
    top = sentence.tree.children[-1]
    if len(top.children) < 2 or top.children[-1].word is None:
        return sentence
    shorter = Tree(top.label, top.children[:-1])
    return sentence_of_tree(Tree(ROOT, [*sentence.tree.children[:-1], shorter]))


def joined(first: Sentence, second: Sentence) -> Sentence:
    """Return two sentences as one, with both trees under one ROOT, or without a tree if either has none."""
    if first.tree is None or second.tree is None:
        return Sentence(first.words + second.words, first.tags + second.tags)
    return sentence_of_tree(Tree(ROOT, first.tree.children + second.tree.children))


def addressed(sentence: Sentence) -> Sentence:
    """Return the sentence preceded by an @name, which is a noun phrase under the topmost phrase."""
    words, tags = [USER, *sentence.words], ["NNP", *sentence.tags]
    if sentence.tree is None:
        return Sentence(words, tags)
    first, *rest = sentence.tree.children
    if first.word is not None:
        return sentence
    name = Tree("NP", [Tree("NNP", word=USER)])
    return sentence_of_tree(Tree(ROOT, [Tree(first.label, [name, *first.children]), *rest]))


def recased(sentence: Sentence, case: Callable[[str], str]) -> Sentence:
    """Return the sentence with `case` applied to every word; the words in the tree are not changed."""
    return Sentence([case(word) for word in sentence.words], sentence.tags, sentence.tree)
