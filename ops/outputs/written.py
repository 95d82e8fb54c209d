"""What each unit of a layer writes, where it is computed, and which weights it reads with."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import nn

from ops.dictionaries.description import Description
from ops.dictionaries.read import load
from ops.errors import InputError, with_article
from ops.model.facts import ModelFacts
from ops.model.head_projections import matrix_of
from ops.model.hook_points import Place, module_at, norm_after
from ops.model.sites import find_first_matrix, find_module
from ops.outputs.token_head import Entry, TokenHead, with_states

_UNITS_AT_ONCE = 8192
_NORMALISED: dict[str, Place] = {"mlp": "mlp_output", "attention": "attention"}


class Written(NamedTuple):
    """What the units of one layer write.

    Attributes:
        layer: the layer.
        units: how many it has.
        entry: where the directions enter the head.
        writes: matrix whose rows are the directions, `[units, width]`; None: each unit is an axis of the stream.
        reads: matrix whose rows are the units' input weights, `[units, width]`; None where they are not known.
        module: where a unit is added to, for the check.
        enters: whether at what enters the module, otherwise at what it returns.
        adds: matrix whose rows are what is added there for a unit; None: the unit's own axis.
    """

    layer: int
    units: int
    entry: Entry
    writes: torch.Tensor | None
    reads: torch.Tensor | None
    module: nn.Module
    enters: bool
    adds: torch.Tensor | None

    def directions(self, units: torch.Tensor) -> torch.Tensor:
        """Return what units `[n]` write, `[n, width]` float32."""
        return rows_of(self.writes, units, self.units)

    def added(self, unit: int) -> torch.Tensor:
        """Return what is added at the module for one unit of activation, a vector."""
        return rows_of(self.adds, torch.tensor([unit]), self.units)[0]

    def cosines(self, units: torch.Tensor) -> torch.Tensor | None:
        """Return the cosine of what units write with what they read, `[n]` float64; NaN where one of them is zero."""
        if self.reads is None:
            return None
        a, b = self.directions(units).double(), self.reads[units].double()
        products: torch.Tensor = (a * b).sum(1) / (a.norm(dim=1) * b.norm(dim=1))
        return products.cpu()

    def mixed(self, count: int, generator: torch.Generator) -> torch.Tensor:
        """Return random directions, `[count, width]` float32, each of length 1.

        Each is what an axis of a randomly rotated basis of the layer's units writes: a sum of what the units write with
        independent normal weights. So the directions lie where the layer writes. Of axes of the stream they are uniform
        on the sphere.
        """
        if self.writes is None:
            found = torch.randn(count, self.units, generator=generator)
        else:
            found = torch.zeros(count, self.writes.shape[1])
            for block in self.writes.split(_UNITS_AT_ONCE):
                found += torch.randn(count, len(block), generator=generator) @ block.float().cpu()
        return torch.nn.functional.normalize(found, dim=1)


def rows_of(matrix: torch.Tensor | None, rows: torch.Tensor, size: int) -> torch.Tensor:
    """Return rows of a matrix as float32; of None, those of the identity of this size."""
    if matrix is None:
        return torch.nn.functional.one_hot(rows, size).float()
    return matrix[rows.to(matrix.device)].float()


def written_by_neurons(head: TokenHead, site: str, layer: int) -> Written:
    """Return what the neurons of a layer write.

    `hidden` and `attention`: a unit is an axis of the residual stream, taken as if it reached the head unchanged.
    The last layer's `hidden` is what the model returns, so only what follows that is passed. `mlp`: a column of the
    feed-forward's second matrix; it reads with a row of the first one, of the gate's in a gated layer.

    Raises:
        InputError: where the site is in the architecture is not known, or the layer normalises what it writes.
    """
    facts, layers = head.facts, head.layer_modules
    is_last = layer == facts.layers
    if site == "hidden" and is_last:
        size = _output_width(head)
        return Written(layer, size, "output", None, None, head.body, False, None)
    if layers is None:
        raise InputError(
            f"--model {facts.name}: the layers of {with_article(facts.model_type)} are not in one list, so what "
            "its units write is not known; give another model"
        )
    module = layers[layer - 1]
    if site == "hidden":
        return Written(layer, facts.width, "stream", None, None, module, False, None)
    if norm_after(module, _NORMALISED[site]) is not None:
        raise InputError(
            f"--site {site}: {with_article(facts.model_type)} normalises what a layer's {site} writes before it "
            "enters the stream, so its units have no direction of their own there; use a run with --site hidden"
        )
    found, why = find_module(module, site)
    if found is None:
        raise InputError(f"--site {site}: its place in {with_article(facts.model_type)} is not known ({why})")
    if site == "attention":
        return Written(layer, facts.width, "stream", None, None, found, False, None)
    writes = matrix_of(found).T
    if writes.shape[1] != facts.width:
        raise InputError(
            f"--site mlp: the second matrix of {with_article(facts.model_type)} writes {writes.shape[1]} values, and "
            f"its stream has {facts.width}; use a run with --site hidden"
        )
    return Written(layer, len(writes), "stream", writes, _first_rows(module, writes), found, True, None)


def _first_rows(layer: nn.Module, writes: torch.Tensor) -> torch.Tensor | None:
    """Return the input weights of a layer's feed-forward units, `[units, width]`; None where they are not known."""
    first = find_first_matrix(layer)
    if first is None:
        return None
    rows = matrix_of(first)[: len(writes)]
    return rows if rows.shape == writes.shape else None


def _output_width(head: TokenHead) -> int:
    token = torch.ones(1, 1, dtype=torch.int64, device=head.device)
    with torch.inference_mode():
        found: Any = head.body(input_ids=token, attention_mask=token)
    return int(found[0].shape[-1])


def written_by_features(head: TokenHead, description: Description) -> Written:
    """Return what the features of a dictionary write: the rows of its decoder.

    What is decoded into the heads' outputs goes through the attention's output matrix. A direction without a decoder
    writes itself, divided by its squared length: by that its own activation rises by one.

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
        # The least change of a state by which the product with the direction rises by one.
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
    return Written(description.layer, description.features, "stream", writes, reads, module, enters, adds)


def written_by(
    head: TokenHead, site: str, layers: Sequence[int], dictionaries: Sequence[Description]
) -> dict[int, Written]:
    """Return what the units of these layers write, by layer: features of dictionaries, or without any neurons."""
    if dictionaries:
        return {own.layer: written_by_features(head, own) for own in dictionaries if own.layer in layers}
    return {layer: written_by_neurons(head, site, layer) for layer in layers}


def check_written(facts: ModelFacts, site: str, layers: Sequence[int], dictionaries: Sequence[Description]) -> int:
    """Load a model with its head, look whether what its units write is known, and return the rows of the unembedding.

    Raises:
        InputError: the model has no head, or what a layer's units write is not known.
    """
    head = TokenHead(facts, threads=None)
    for layer in layers:
        written_by(head, site, (layer,), dictionaries)
    return head.unembedding.out_features


def adding(written: Written, vector: torch.Tensor) -> Any:
    """Add a vector at every token where a layer's units are, until the handle that is returned is removed."""

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
