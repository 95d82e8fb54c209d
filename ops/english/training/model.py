"""The network with its heads, as used in training, and its predictions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ops.english.labelling import CHANGES, DEPTHS, best_labels
from ops.english.labels import decode
from ops.english.network import Reader
from ops.english.training.batches import Batch, Batcher, Labels
from ops.english.training.treebank import Sentence
from ops.english.words import Inventory

SENTENCES_PER_BATCH = 128


@dataclass(frozen=True, slots=True)
class Architecture:
    """The sizes of the network.

    Attributes:
        width: size of a word's vector.
        hidden: size of the BiLSTM's state in one direction.
        layers: number of layers of the BiLSTM.
        windows: number of layers of the CNN.
        dropout: share of values that are dropped in training.
    """

    width: int
    hidden: int
    layers: int
    windows: int
    dropout: float


class JointNetwork(nn.Module):
    """A Reader with the linear layers of the tagger and of the parser on top."""

    def __init__(self, inventory: Inventory, labels: Labels, sizes: Architecture) -> None:
        super().__init__()
        self.labels = labels
        self.reader = Reader(inventory, sizes.width, sizes.hidden, sizes.layers, sizes.windows, sizes.dropout)
        self.tagger = nn.Linear(2 * sizes.hidden, len(labels.tags))
        self.heads = [CHANGES, DEPTHS, len(labels.phrases), len(labels.unaries)]
        self.parser = nn.Linear(2 * sizes.hidden, sum(self.heads))

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the scores of tags, `[words, tags]`, and of the parser's heads, `[words, sum of heads]`."""
        kinds = self.reader.words(batch.rows)
        read = self.reader(kinds[batch.kinds], batch.lengths)
        return self.tagger(read), self.parser(read)

    @torch.inference_mode()
    def parse(self, sentences: Sequence[Sentence], batcher: Batcher) -> list[Sentence]:
        """Return the sentences with predicted tags and trees, in the same order."""
        self.eval()
        order = sorted(range(len(sentences)), key=lambda place: len(sentences[place].words))
        parsed: dict[int, Sentence] = {}
        for first in range(0, len(order), SENTENCES_PER_BATCH):
            chosen = order[first : first + SENTENCES_PER_BATCH]
            batch = batcher.batch([sentences[place] for place in chosen])
            tag_scores, scores = self(batch)
            names = [self.labels.tags[code] for code in tag_scores.argmax(1).tolist()]
            found = best_labels(scores.numpy(), batch.lengths, self.labels.phrases, self.labels.unaries)
            ends = np.cumsum(batch.lengths).tolist()
            for place, labels, end in zip(chosen, found, ends, strict=True):
                words = sentences[place].words
                tags = names[end - len(words) : end]
                tree = decode(words, tags, labels.depths, labels.phrases, labels.unaries)
                parsed[place] = Sentence(words, tags, tree)
        return [parsed[place] for place in range(len(sentences))]
