"""The sentences of one training pass, and their variants for text unlike edited prose: tweets, headlines."""

from collections.abc import Callable, Sequence
from random import Random

from ops.english.training.model import JointNetwork
from ops.english.training.treebank import Sentence, sentence_of_tree
from ops.penn import ROOT, Tree, leaves

CASES: tuple[Callable[[str], str], ...] = (str.lower, str.upper, str.title)
USER = "@user"


class Mixture:
    """Draws the sentences of each pass.

    Args:
        trees, tagged: the sentences that every pass reads, varied at the rate `variation`.
        capped: the sentences of which every pass reads a sample, without variation.
        capped_sentences: size of this sample.
        variation: the rate of variants, from 0 to 1.
        own_trees: the share of the tagged sentences that get the network's own trees after `parse` was called.
    """

    def __init__(
        self,
        trees: Sequence[Sentence],
        capped: Sequence[Sentence],
        tagged: Sequence[Sentence],
        *,
        capped_sentences: int,
        variation: float,
        own_trees: float,
    ) -> None:
        self._trees, self._capped, self._tagged = trees, capped, tagged
        self._capped_sentences = min(capped_sentences, len(capped))
        self._variation = variation
        self._own_trees = own_trees
        self._parsed: Sequence[Sentence] = tagged

    def draw(self, random: Random) -> list[Sentence]:
        """Return the sentences of one pass."""
        sentences = self._varied(self._trees, random)
        sentences += random.sample(self._capped, self._capped_sentences)
        tagged = self._tagged
        if self._parsed is not self._tagged:
            pairs = zip(self._parsed, self._tagged, strict=True)
            tagged = [mine if random.random() < self._own_trees else gold for mine, gold in pairs]
        return sentences + self._varied(tagged, random)

    def parse(self, network: JointNetwork) -> None:
        """Replace the trees of the tagged sentences with those that this network predicts; the tags stay."""
        parsed = []
        for gold, predicted in zip(self._tagged, network.parse(self._tagged), strict=True):
            if predicted.tree is not None:
                for leaf, tag in zip(leaves(predicted.tree), gold.tags, strict=True):
                    leaf.label = tag
            parsed.append(Sentence(gold.words, gold.tags, predicted.tree))
        self._parsed = parsed

    def words(self) -> int:
        """Return the approximate number of words of a pass."""
        capped = sum(len(sentence.words) for sentence in self._capped)
        whole = sum(len(sentence.words) for sentence in (*self._trees, *self._tagged))
        return whole + capped * self._capped_sentences // max(1, len(self._capped))

    def counts(self) -> dict[str, float]:
        """Return the number of occurrences of each word; an occurrence in `capped` counts as a quarter."""
        counts: dict[str, float] = {}
        for sentences, weight in ((self._trees, 1.0), (self._tagged, 1.0), (self._capped, 0.25)):
            for sentence in sentences:
                for word in sentence.words:
                    counts[word] = counts.get(word, 0.0) + weight
        return counts

    def _varied(self, sentences: Sequence[Sentence], random: Random) -> list[Sentence]:
        return [vary(sentence, sentences, random, self._variation) for sentence in sentences]


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
