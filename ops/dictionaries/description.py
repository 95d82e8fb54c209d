"""What is known of a dictionary before a model is loaded: its computation, its size, and where it reads."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ops.errors import InputError, one_line
from ops.model.hook_points import HookPoint

# How a feature's activation follows from its product with the encoder plus its bias (`ops.dictionaries.encoder`).
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
    """A dictionary that was inspected and found to have complete, finite weights.

    Attributes:
        asked: the layer and the path, as they were given.
        format: `saelens`, `directions` or `rotated`.
        kind: how a feature's activation is computed.
        width: size of the state that it reads.
        features: how many it has.
        point: where it reads.
        target: what its decoder reconstructs; None if it has no decoder.
        fingerprint: sha256 of its files; for a rotation, the parameters of its draw.
        k: features that are active at a token (`topk`).
        rescaled: whether activations are multiplied by the norms of the decoder's rows (`topk`).
        subtracts_bias: whether the decoder's bias is subtracted from the input.
        normalization: how the input is normalised before that.
        centred: whether the model was trained on states without their mean over the width.
        model: the name in the file of the model it was trained on; empty if there is none.
    """

    asked: Asked
    format: str
    kind: Kind
    width: int
    features: int
    point: HookPoint
    target: HookPoint | None
    fingerprint: str
    k: int = 0
    rescaled: bool = False
    subtracts_bias: bool = False
    normalization: Normalization = "none"
    centred: bool = False
    model: str = ""

    @property
    def layer(self) -> int:
        """The layer that its features are of."""
        return self.asked.layer

    @property
    def sparse(self) -> bool:
        """Whether most activations are 0 and none is negative: then there is one pole."""
        return self.kind != "linear"

    def said(self) -> dict[str, Any]:
        """Return its entry in run.json."""
        return {
            "layer": self.layer, "path": self.asked.path, "format": self.format, "kind": self.kind,
            "features": self.features, "place": self.point.place, "model": self.model,
            "fingerprint": self.fingerprint,
        }  # fmt: skip

    def __str__(self) -> str:
        return f"{self.features:,} features of {self.asked.path} ({self.kind}) on {self.point}"


def residual(layer: int) -> HookPoint:
    """Return the residual stream after a layer."""
    return HookPoint(layer, "residual")
