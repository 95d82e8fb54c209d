"""The direction that each unit of a layer writes, the place where it is computed, and the unit's input weights."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from ops.dictionaries.description import Description
from ops.dictionaries.read import load
from ops.errors import InputError, with_article
from ops.model.attention_modules import matrix_of
from ops.model.names import ModelFacts
from ops.model.sites import Place, find_module, module_at, norm_after
from ops.outputs.token_head import Entry, TokenHead, with_states

_UNITS_AT_ONCE = 8192
_NORMALISED: dict[str, Place] = {"mlp": "mlp_output", "attention": "attention"}


class Written(NamedTuple):
    """The directions that the units of one layer write.

    Attributes:
        entry: the place at which the directions enter the head.
        module, enters: the module at which the check increases a unit, and whether it changes the module's input
            instead of its output.
        writes: matrix whose rows are the directions, `[units, width]`; None if each unit is an axis of the stream.
        adds: matrix whose rows are the vectors that are added there, one for each unit; None for the unit's own axis.
        reads: matrix whose rows are the units' input weights, `[units, width]`; None if they are not known.
    """

    layer: int
    units: int
    entry: Entry
    module: nn.Module
    enters: bool = False
    writes: torch.Tensor | None = None
    adds: torch.Tensor | None = None
    reads: torch.Tensor | None = None

    def directions(self, units: torch.Tensor) -> torch.Tensor:
        """Return the directions that units `[n]` write, `[n, width]` float32."""
        return rows_of(self.writes, units, self.units)

    def added(self, unit: int) -> torch.Tensor:
        """Return the vector that is added at the module for one unit of activation."""
        return rows_of(self.adds, torch.tensor([unit]), self.units)[0]

    def cosines(self, units: torch.Tensor) -> torch.Tensor | None:
        """Return the cosine of each unit's direction with its input weights, `[n]` float64; NaN if either is zero."""
        if self.reads is None:
            return None
        a, b = self.directions(units).double(), self.reads[units].double()
        products: torch.Tensor = (a * b).sum(1) / (a.norm(dim=1) * b.norm(dim=1))
        return products.cpu()

    def mixed(self, count: int, generator: torch.Generator) -> torch.Tensor:
        """Return random directions, `[count, width]` float32, each of length 1.

        Each is the direction that an axis of a randomly rotated basis of the layer's units writes: the sum of the
        units' directions with independent normal weights. So the directions are in the subspace to which the layer
        writes. If units are axes of the stream, the directions are uniform on the sphere.
        """
        if self.writes is None:
            directions = torch.randn(count, self.units, generator=generator)
        else:
            directions = torch.zeros(count, self.writes.shape[1])
            for block in self.writes.split(_UNITS_AT_ONCE):
                directions += torch.randn(count, len(block), generator=generator) @ block.float().cpu()
        return torch.nn.functional.normalize(directions, dim=1)


def rows_of(matrix: torch.Tensor | None, rows: torch.Tensor, size: int) -> torch.Tensor:
    """Return rows of a matrix as float32; None stands for the identity matrix of this size."""
    if matrix is None:
        return torch.nn.functional.one_hot(rows, size).float()
    return matrix[rows.to(matrix.device)].float()


def written_by_neurons(head: TokenHead, site: str, layer: int) -> Written:
    """Return the directions that the neurons of a layer write.

    At the sites `hidden` and `attention`, a unit is an axis of the residual stream, which is treated as if it reached
    the head unchanged. The last layer's `hidden` is the model's output, so only the computation after that output is
    applied. At the site `mlp`, a unit writes a column of the feed-forward's second matrix. Its input weights are a row
    of the first matrix, or of the gate's matrix in a gated layer.

    Raises:
        InputError: the site's place in the architecture is not known, or the layer normalises its output.
    """
    facts, layers = head.facts, head.layer_modules
    if site == "hidden" and layer == facts.layers:
        return Written(layer, _output_width(head), "output", head.body)
    if layers is None:
        raise InputError(
            f"--model {facts.name}: the layers of {with_article(facts.model_type)} are not in one list, so what "
            "its units write is not known; give another model"
        )
    module = layers[layer - 1]
    if site == "hidden":
        return Written(layer, facts.width, "stream", module)
    if norm_after(module, _NORMALISED[site]) is not None:
        raise InputError(
            f"--site {site}: {with_article(facts.model_type)} normalises what a layer's {site} writes before it "
            "enters the stream, so its units have no direction of their own there; use a run with --site hidden"
        )
    projection = find_module(module, site)
    if projection is None:
        raise InputError(f"--site {site}: its place in {with_article(facts.model_type)} is not known")
    if site == "attention":
        return Written(layer, facts.width, "stream", projection)
    writes = matrix_of(projection).T
    if writes.shape[1] != facts.width:
        raise InputError(
            f"--site mlp: the second matrix of {with_article(facts.model_type)} writes {writes.shape[1]} values, and "
            f"its stream has {facts.width}; use a run with --site hidden"
        )
    first = find_module(module, "mlp_first")
    reads = None if first is None else matrix_of(first)[: len(writes)]
    if reads is not None and reads.shape != writes.shape:
        reads = None
    return Written(layer, len(writes), "stream", projection, enters=True, writes=writes, reads=reads)


def _output_width(head: TokenHead) -> int:
    token = torch.ones(1, 1, dtype=torch.int64, device=head.device)
    with torch.inference_mode():
        output: Any = head.body(input_ids=token, attention_mask=token)
    return int(output[0].shape[-1])


def written_by_features(head: TokenHead, description: Description) -> Written:
    """Return the directions that the features of a dictionary write: the rows of its decoder.

    If the decoder reconstructs the heads' outputs, its rows are multiplied by the attention's output matrix. A
    direction without a decoder writes itself divided by its squared length, which increases its own activation by one.

    Raises:
        InputError: the dictionary's decoder writes nothing into the stream.
    """
    weights, point = load(description), description.target or description.point
    if head.layer_modules is None:
        raise description.asked.error(f"the layers of {with_article(head.facts.model_type)} are not in one list")
    if point.place == "mlp_input":
        raise description.asked.error(
            "reconstructs the input of the feed-forward network, so its features write nothing"
        )
    module, enters = module_at(head.model, head.layer_modules, point)
    encoder = weights["encoder"].T
    adds = weights.get("decoder")
    if adds is None:
        # The smallest change of a state that increases its product with the direction by one.
        adds = encoder / encoder.square().sum(1, keepdim=True).clamp_min(torch.finfo(torch.float32).tiny)
    if description.rescaled:
        adds = adds / adds.norm(dim=1, keepdim=True)
    writes = adds
    if point.place == "heads":
        layer = head.layer_modules[point.layer - 1]
        if norm_after(layer, "attention") is not None:
            raise description.asked.error("the layer normalises what its heads write before it enters the stream")
        writes = adds @ matrix_of(module).float().cpu().T
    reads = encoder if "decoder" in weights and encoder.shape == writes.shape else None
    return Written(description.layer, description.features, "stream", module, enters, writes, adds, reads)


def written_by(head: TokenHead, site: str, layer: int, dictionaries: Sequence[Description]) -> Written:
    """Return the directions that the units of a layer write; without dictionaries, units are neurons."""
    described = next((dictionary for dictionary in dictionaries if dictionary.layer == layer), None)
    return written_by_neurons(head, site, layer) if described is None else written_by_features(head, described)


def check_written(facts: ModelFacts, site: str, layers: Sequence[int], dictionaries: Sequence[Description]) -> int:
    """Check that a model has a head and that its units' directions are known; return the rows of the unembedding.

    Raises:
        InputError: the model has no head, or the directions that a layer's units write are not known.
    """
    head = TokenHead(facts, threads=None)
    for layer in layers:
        written_by(head, site, layer, dictionaries)
    return head.unembedding.out_features


def adding(written: Written, vector: torch.Tensor) -> RemovableHandle:
    """Add a vector at every token to the state that contains a layer's units, until the returned handle is removed."""

    def enter(module: nn.Module, args: Any, keywords: Any) -> Any:
        if args:
            return (args[0] + vector, *args[1:]), keywords
        return args, {**keywords, "hidden_states": keywords["hidden_states"] + vector}

    def leave(module: nn.Module, args: Any, output: Any) -> Any:
        states = output if isinstance(output, torch.Tensor) else output[0]
        return with_states(output, states + vector)

    if written.enters:
        return written.module.register_forward_pre_hook(enter, with_kwargs=True)
    return written.module.register_forward_hook(leave)
