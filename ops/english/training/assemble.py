"""A spaCy pipeline made from a trained network."""

from typing import Any

import numpy as np
import spacy
import torch
from spacy.language import Language
from torch import nn

from ops.english import encoder, parser
from ops.english.training.batches import Labels
from ops.english.training.model import Architecture, JointNetwork

__all__ = ["assemble", "disassemble", "encoder", "parser"]

WHITE_SPACE = "_SP"
CERTAIN = 1e4


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


def _with_space_column(head: nn.Linear) -> tuple["np.ndarray[Any, np.dtype[np.float32]]", Any]:
    weights = head.weight.detach().numpy()
    return np.hstack([weights, np.zeros((len(weights), 1), np.float32)]), head.bias.detach().numpy()
