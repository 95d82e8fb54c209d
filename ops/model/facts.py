"""What is known of a model without loading it: apart from what loads it, so that a worker can do without PyTorch."""

from dataclasses import dataclass

from ops.model.names import model_title


@dataclass(frozen=True)
class ModelFacts:
    """What is known of a model from its configuration alone.

    Attributes:
        name: what the user asked for.
        path: directory or hub id that it is loaded from.
        revision: commit of the hub's files; empty for a directory.
        model_type: the architecture's name in transformers.
        layers: number of layers.
        width: units of a layer's hidden state.
        position_limit: most tokens of a sentence, special ones included.
        vocabulary: rows of the table of token embeddings, 0 where there is no such table.
        decoder: whether a token sees only those before it.
        fingerprint: sha256 of the configuration and the weights; of the hub's files ID@REVISION. Of random weights, a
            sha256 of the configuration, the seed and the versions of what draws them.
        seed: seed of its random weights; None where they are trained.
    """

    name: str
    path: str
    revision: str
    model_type: str
    layers: int
    width: int
    position_limit: int
    vocabulary: int
    decoder: bool
    fingerprint: str
    seed: int | None = None

    @property
    def title(self) -> str:
        """What figures call it."""
        return model_title(self.name, self.fingerprint, self.seed)
