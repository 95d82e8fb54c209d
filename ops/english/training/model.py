"""The network with its heads, as used in training, its predictions, and the spaCy pipeline made from it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import spacy
import torch
from spacy.language import Language
from torch import Tensor, nn

from ops.arrays import Float32s
from ops.english import encoder
from ops.english.labelling import CHANGES, DEPTHS, best_labels
from ops.english.labels import decode
from ops.english.network import Reader
from ops.english.training.batches import Batch, Batcher, Labels
from ops.english.training.treebank import Sentence
from ops.english.words import Inventory

SENTENCES_PER_BATCH = 128
WHITE_SPACE = "_SP"
CERTAIN = 1e4


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
        self.batcher = Batcher(inventory, labels)
        self.reader = Reader(inventory, sizes.width, sizes.hidden, sizes.layers, sizes.windows, sizes.dropout)
        self.tagger = nn.Linear(2 * sizes.hidden, len(labels.tags))
        self.heads = [CHANGES, DEPTHS, len(labels.phrases), len(labels.unaries)]
        self.parser = nn.Linear(2 * sizes.hidden, sum(self.heads))

    def forward(self, batch: Batch) -> list[Tensor]:
        """Return the scores of tags and those of each of the parser's heads, `[words, outputs]` each."""
        kinds = self.reader.words(batch.rows)
        read = self.reader(kinds[batch.kinds], batch.lengths)
        return [self.tagger(read), *self.parser(read).split(self.heads, -1)]

    @torch.inference_mode()
    def parse(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """Return the sentences with predicted tags and trees, in the same order."""
        self.eval()
        order = sorted(range(len(sentences)), key=lambda place: len(sentences[place].words))
        parsed: dict[int, Sentence] = {}
        for first in range(0, len(order), SENTENCES_PER_BATCH):
            chosen = order[first : first + SENTENCES_PER_BATCH]
            batch = self.batcher.batch([sentences[place] for place in chosen])
            tag_scores, *scores = self(batch)
            names = [self.labels.tags[code] for code in tag_scores.argmax(1).tolist()]
            found = best_labels(torch.cat(scores, -1).numpy(), batch.lengths, self.labels.phrases, self.labels.unaries)
            ends = np.cumsum(batch.lengths).tolist()
            for place, labels, end in zip(chosen, found, ends, strict=True):
                words = sentences[place].words
                tags = names[end - len(words) : end]
                parsed[place] = Sentence(words, tags, decode(words, tags, labels))
        return [parsed[place] for place in range(len(sentences))]


def assemble(network: JointNetwork, meta: dict[str, Any]) -> Language:
    """Return the pipeline of tok2vec, tagger and constituency; `meta` is stored in its meta.json."""
    labels = network.labels
    width = 2 * network.reader.hidden + 1
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": width, "upstream": "tok2vec"}
    nlp = spacy.blank("en", meta=meta)
    reader = {"@architectures": "atlas.EnglishReader.v1", "hidden": network.reader.hidden}
    tok2vec: Any = nlp.add_pipe("tok2vec", config={"model": reader})
    encoder.set_reader(tok2vec.model, network.reader)
    tagger: Any = nlp.add_pipe(
        "tagger",
        config={"model": {"@architectures": "spacy.Tagger.v2", "tok2vec": listener, "normalize": False}},
    )
    for tag in (*labels.tags, WHITE_SPACE):
        tagger.add_label(tag)
    weights, bias = _with_space_column(network.tagger)
    # Only the last column decides the tags of white space.
    weights = np.vstack([weights, np.eye(1, width, width - 1, dtype=np.float32) * 2 * CERTAIN])
    output = tagger.model.get_ref("output_layer")
    output.set_dim("nO", len(tagger.labels))
    output.set_dim("nI", width, force=True)
    output.set_param("W", weights)
    output.set_param("b", np.append(bias, np.float32(-CERTAIN)))
    heads = {"@architectures": "atlas.ConstituencyHeads.v1", "tok2vec": listener, "width": width}
    heads["outputs"] = network.parser.out_features
    constituency: Any = nlp.add_pipe(
        "atlas_constituency",
        name="constituency",
        config={"model": heads, "phrases": labels.phrases, "unaries": labels.unaries},
    )
    weights, bias = _with_space_column(network.parser)
    constituency.model.get_ref("heads").set_param("W", weights)
    constituency.model.get_ref("heads").set_param("b", bias)
    nlp._link_components()
    return nlp


@torch.no_grad()
def disassemble(nlp: Language) -> JointNetwork:
    """Return the network of a pipeline that `assemble` made."""
    reader = nlp.get_pipe("tok2vec").model.shims[0]._model  # type: ignore[attr-defined]
    tagger: Any = nlp.get_pipe("tagger")
    constituency: Any = nlp.get_pipe("constituency")
    labels = Labels(list(tagger.labels[:-1]), constituency.phrases, constituency.unaries)
    sizes = Architecture(reader.width, reader.hidden, reader.layers, reader.windows, 0.0)
    network = JointNetwork(reader.inventory, labels, sizes)
    network.reader.load_state_dict(reader.state_dict())
    output, heads = tagger.model.get_ref("output_layer"), constituency.model.get_ref("heads")
    for mine, theirs in ((network.tagger, output), (network.parser, heads)):
        mine.weight.copy_(torch.tensor(theirs.get_param("W")[: mine.out_features, :-1]))
        mine.bias.copy_(torch.tensor(theirs.get_param("b")[: mine.out_features]))
    return network.eval()


def _with_space_column(head: nn.Linear) -> tuple[Float32s, Any]:
    weights = head.weight.detach().numpy()
    return np.hstack([weights, np.zeros((len(weights), 1), np.float32)]), head.bias.detach().numpy()
