"""The sentences of one training pass: all trees, a sample of the capped sentences, and all tagged sentences."""

from collections.abc import Sequence
from random import Random

from ops.english.training.augment import vary
from ops.english.training.batches import Batcher
from ops.english.training.model import JointNetwork
from ops.english.training.treebank import Sentence
from ops.penn import leaves


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

    def parse(self, network: JointNetwork, batcher: Batcher) -> None:
        """Parse the tagged sentences with this network, using their own tags."""
        self._parsed = own_trees(network, self._tagged, batcher)

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


def own_trees(network: JointNetwork, sentences: Sequence[Sentence], batcher: Batcher) -> list[Sentence]:
    """Return the sentences with their own tags and the trees that the network predicts."""
    parsed = network.parse(sentences, batcher)
    for sentence, found in zip(sentences, parsed, strict=True):
        if found.tree is not None:
            for leaf, tag in zip(leaves(found.tree), sentence.tags, strict=True):
                leaf.label = tag
    return [Sentence(gold.words, gold.tags, found.tree) for gold, found in zip(sentences, parsed, strict=True)]
