"""The facts about a model that its configuration gives.

This module is separate from the one that loads models, so that a worker can use it without PyTorch.
"""

from dataclasses import dataclass, field

from ops.model.names import model_title


@dataclass(frozen=True)
class ModelFacts:
    """The facts about a model that are read from its configuration and files, without loading it.

    Attributes:
        name: the name that the user gave.
        path: the directory or hub id from which the model is loaded.
        revision: the commit of the files on the hub; empty for a directory.
        model_type: the architecture's name in transformers.
        layers: number of layers.
        width: number of units of a layer's hidden state.
        position_limit: maximum number of tokens of a sentence, including special tokens.
        vocabulary: number of rows of the table of token embeddings; 0 if the model has no such table.
        fingerprint: the sha256 of the configuration and the weights, or ID@REVISION for files on the hub. For random
            weights it contains a sha256 of the configuration, the seed and the versions of torch and transformers.
        seed: the seed of random weights; None if the weights are trained.
        part: what is read if a model combines several: `text model` or `encoder`; empty for a single stack.
        tried: what was found by trying the model (`direction.is_decoder`), kept here so that workers receive it.
    """

    name: str
    path: str
    revision: str
    model_type: str
    layers: int
    width: int
    position_limit: int
    vocabulary: int
    fingerprint: str
    seed: int | None = None
    part: str = ""
    tried: dict[str, bool] = field(default_factory=dict, compare=False, repr=False)

    @property
    def title(self) -> str:
        """The model's name on figures."""
        return model_title(self.name, self.fingerprint, self.seed)
