"""Computes the activations of features from states, a block of features at a time, and reconstructs states from them.

All numbers are float32. Products are always computed in panels of `PANEL` features, so that an activation has the same
bits for every block size.
"""

from collections.abc import Iterator

import numpy as np
import torch

from ops.arrays import Float32s, Int32s
from ops.compiled import compiled
from ops.dictionaries.description import Description

PANEL = 1024  # number of features whose products are computed together
_EPS = 1e-5  # added to a standard deviation before dividing by it


class Encoder:
    """A dictionary that is ready to encode states (formulas: SAELens, `sae_lens/saes`).

    Args:
        weights: `encoder` `[width, features]` and, depending on the kind, `bias`, `threshold`, `gate_bias` and
            `log_scale`, each `[features]`, `decoder` `[features, out]`, `decoder_bias` `[out]`, `skip` `[out, width]`.
        block: number of features that are encoded at a time; rounded up to complete panels.
    """

    def __init__(
        self, description: Description, weights: dict[str, torch.Tensor], block: int, device: torch.device | str = "cpu"
    ) -> None:
        self.description, self.features = description, description.features
        self.block = min(-(-block // PANEL) * PANEL, -(-self.features // PANEL) * PANEL)
        moved = {name: tensor.to(device) for name, tensor in weights.items()}
        encoder = moved.pop("encoder")
        self._panels = [encoder[:, start : start + PANEL].contiguous() for start in range(0, self.features, PANEL)]
        self._own = moved
        self._norms = moved["decoder"].norm(dim=-1) if description.rescaled else None

    def blocks(self, states: torch.Tensor) -> Iterator[tuple[int, torch.Tensor]]:
        """Yield the index of each block's first feature, and its features' activations `[tokens, block]`.

        The states are `[tokens, width]`.
        """
        if self.description.kind == "topk":
            yield from self._blocks_of_largest(states)
            return
        x, _, _ = self._input(states)
        for start in range(0, self.features, self.block):
            yield start, self._activate(start, self._products(x, start, min(start + self.block, self.features)))

    def encode(self, states: torch.Tensor) -> torch.Tensor:
        """Return the activations of all features, `[tokens, features]`."""
        return torch.cat([block for _, block in self.blocks(states)], 1)

    def reconstruct(self, states: torch.Tensor) -> torch.Tensor:
        """Return the decoder's output for the activations, `[tokens, out]`.

        The output of an autoencoder approximates the states. A dictionary without a decoder has no reconstruction.
        """
        decoder, described = self._own["decoder"], self.description
        output = self._own["decoder_bias"].expand(len(states), -1).clone()
        for start, block in self.blocks(states):
            rows = decoder[start : start + block.shape[1]]
            if self._norms is not None:
                rows = rows / self._norms[start : start + block.shape[1], None]
            output.addmm_(block, rows)
        if "skip" in self._own:
            output.addmm_(states.float(), self._own["skip"].T)
        if described.target == described.point:
            _, scale, shift = self._input(states)
            output = output * scale + shift
        return output

    def target(self, states: torch.Tensor) -> torch.Tensor:
        """Return the values with which a reconstruction is compared, given the states at the reconstructed point."""
        return _centred(states.float()) if self.description.centred else states.float()

    def _input(self, states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the encoder's input, `[tokens, width]`, and the scale and shift that undo its normalisation."""
        x = _centred(states.float()) if self.description.centred else states.float()
        scale, shift = x.new_ones(1, 1), x.new_zeros(1, 1)
        if self.description.normalization == "constant_norm_rescale":
            scale = x.norm(dim=-1, keepdim=True) / x.shape[-1] ** 0.5
            x = x / scale
        elif self.description.normalization == "layer_norm":
            shift = x.mean(-1, keepdim=True)
            x = x - shift
            scale = x.std(-1, keepdim=True)
            x = x / (scale + _EPS)
        if self.description.subtracts_bias:
            x = x - self._own["decoder_bias"]
        return x, scale, shift

    def _products(self, x: torch.Tensor, start: int, stop: int) -> torch.Tensor:
        """Return the products of the input with the encoders of some features, no bias, `[tokens, stop - start]`."""
        panels = [x @ self._panels[at] for at in range(start // PANEL, -(-stop // PANEL))]
        return panels[0] if len(panels) == 1 else torch.cat(panels, 1)

    def _activate(self, start: int, products: torch.Tensor) -> torch.Tensor:
        """Return the activations of a block's features, given their products, which are overwritten."""
        kind, block = self.description.kind, slice(start, start + products.shape[1])
        if kind == "linear":
            return products
        if kind == "gated":
            is_open = products + self._own["gate_bias"][block] > 0
            products = products * self._own["log_scale"][block].exp() + self._own["bias"][block]
            return products.relu_().mul_(is_open)
        products += self._own["bias"][block]
        if kind == "jumprelu":
            # Multiplying by the mask preserves a NaN, so that the sentence is reported.
            is_open = products > self._own["threshold"][block]
            return products.relu_().mul_(is_open)
        return products.relu_()

    def largest(self, states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return each token's k largest products, with ReLU applied, and their features, both `[tokens, k]`."""
        x, _, _ = self._input(states)
        on_cpu = x.device.type == "cpu"
        values = torch.full((len(x), self.description.k), -torch.inf, device=x.device)
        places = torch.zeros(values.shape, dtype=torch.int32 if on_cpu else torch.int64, device=x.device)
        bad = ~torch.isfinite(x).all(1)
        for start in range(0, self.features, PANEL):
            products = self._products(x, start, min(start + PANEL, self.features))
            products += self._own["bias"][start : start + products.shape[1]]
            if self._norms is not None:
                products *= self._norms[start : start + products.shape[1]]
            if on_cpu:
                take_largest(products.numpy(), start, values.numpy(), places.numpy())
            else:
                values, places = merge_largest(products, start, values, places)
        # The products of a token with a non-finite input cannot be ranked, so its values become NaN.
        return values.relu().masked_fill(bad[:, None], torch.nan), places

    def _blocks_of_largest(self, states: torch.Tensor) -> Iterator[tuple[int, torch.Tensor]]:
        """Yield the blocks of a dictionary in which a token's active features are those with the k largest products."""
        values, places = self.largest(states)
        places = places.long()
        for start in range(0, self.features, self.block):
            size = min(self.block, self.features - start)
            here = (places >= start) & (places < start + size)
            # Features of other blocks go into an extra column, which is dropped.
            whole = values.new_zeros(len(values), size + 1)
            whole.scatter_(1, torch.where(here, places - start, size), values)
            yield start, whole[:, :size]


@compiled
def take_largest(products: Float32s, first: int, values: Float32s, places: Int32s) -> None:
    """Merge the products of some features into each token's largest products so far.

    Of equal products, those of earlier features are kept. With a NaN among them, a token's largest products are NaN.

    Args:
        products: the products of the features from `first` on, `[tokens, features]`.
        first: the index of the first of these features.
        values: the largest products so far, `[tokens, k]`. Each row is a heap whose smallest value is first, and of
            equal values the latest feature's; an empty slot is -inf.
        places: the features of these products, `[tokens, k]` int32.
    """
    k = values.shape[1]
    for token in range(len(products)):
        row, best, features = products[token], values[token], places[token]
        smallest = best[0]
        for i in range(len(row)):
            if not row[i] <= smallest:
                if np.isnan(row[i]) or np.isnan(smallest):
                    best[:] = np.nan
                    break
                value, at = row[i], 0
                while True:
                    below = 2 * at + 1
                    if below >= k:
                        break
                    other = below + 1
                    if other < k and (
                        best[other] < best[below] or (best[other] == best[below] and features[other] > features[below])
                    ):
                        below = other
                    if best[below] >= value:
                        break
                    best[at], features[at] = best[below], features[below]
                    at = below
                best[at], features[at] = value, np.int32(first + i)
                smallest = best[0]


def merge_largest(
    products: torch.Tensor, first: int, values: torch.Tensor, places: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the values and places that `take_largest` writes, from the same arguments, on any device.

    Sorting is stable, so that the earlier of equal products is kept. `Tensor.topk` makes no such promise.
    """
    k = values.shape[1]
    best, place = products.sort(dim=1, descending=True, stable=True)
    values, places = torch.cat([values, best[:, :k]], 1), torch.cat([places, place[:, :k] + first], 1)
    values, kept = values.sort(dim=1, descending=True, stable=True)
    return values[:, :k], places.gather(1, kept[:, :k])


def _centred(states: torch.Tensor) -> torch.Tensor:
    return states - states.mean(-1, keepdim=True)
