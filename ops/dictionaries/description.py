"""The description of a dictionary before a model is loaded: its computation, its size and the states that it reads."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ops.errors import InputError, one_line
from ops.model.sites import HookPoint

# How a feature's activation is computed from the encoder's product plus the bias (`ops.dictionaries.encoder`).
Kind = Literal["standard", "gated", "jumprelu", "topk", "linear"]
Normalization = Literal["none", "constant_norm_rescale", "layer_norm"]
FLAG = "--dictionary"


class Asked(NamedTuple):
    """One `--dictionary LAYER=PATH` of the command line."""

    layer: int
    path: str

    def error(self, why: str) -> InputError:
        """Return the error that names this dictionary."""
        return InputError(f"{FLAG} {self.layer}={one_line(self.path, 200)}: {why}")


@dataclass(frozen=True)
class Description:
    """A dictionary that was inspected and has complete, finite weights.

    Attributes:
        asked: the layer and the path as they were given on the command line.
        format: `saelens`, `directions` or `rotated`.
        kind: how a feature's activation is computed.
        width: size of the state that the dictionary reads.
        features: number of features.
        point: the hook point at which the dictionary reads.
        target: the hook point that its decoder reconstructs; None if it has no decoder.
        fingerprint: sha256 of its files; for a rotated basis, a text with the parameters of its random draw.
        out: size of the state that its decoder reconstructs.
        k: number of features that are active at a token; used only by the kind `topk`.
        rescaled: whether activations are multiplied by the norms of the decoder's rows; used only by the kind `topk`.
        subtracts_bias: whether the decoder's bias is subtracted from the input.
        normalization: how the input is normalised before the bias is subtracted.
        centred: whether the dictionary was trained on states from which their mean over the width was subtracted.
        model: the name of the model on which it was trained, as its file states it; empty if the file has none.
        model_seed: the seed of that model's weights, used only if its name is `random:NAME`.
    """

    asked: Asked
    format: str
    kind: Kind
    width: int
    features: int
    point: HookPoint
    target: HookPoint | None
    fingerprint: str
    out: int = 0
    k: int = 0
    rescaled: bool = False
    subtracts_bias: bool = False
    normalization: Normalization = "none"
    centred: bool = False
    model: str = ""
    model_seed: int = 0

    @property
    def layer(self) -> int:
        """The layer to which the features belong."""
        return self.asked.layer

    @property
    def sparse(self) -> bool:
        """Whether most activations are 0 and none is negative, so that only the pole `top` exists."""
        return self.kind != "linear"

    @property
    def matrix_bytes(self) -> int:
        """The bytes of its encoder and, if there is one, its decoder, as float32."""
        return 4 * self.features * self.width * (2 if self.target is not None else 1)

    def said(self) -> dict[str, Any]:
        """Return the dictionary's entry in run.json."""
        return {
            "layer": self.layer, "path": self.asked.path, "format": self.format, "kind": self.kind,
            "features": self.features, "place": self.point.place, "model": self.model,
            "fingerprint": self.fingerprint,
        }  # fmt: skip

    def __str__(self) -> str:
        return f"{self.features:,} features of {self.asked.path} ({self.kind}) on {self.point}"
