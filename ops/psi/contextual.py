"""The psi of every token in every head over real text, read from the forward pass while it runs (Maeda 2024)."""

from typing import Any

import torch
from torch import nn

from ops.model.head_projections import PROJECTIONS, LayerProjections
from ops.psi.psi import VALUES, psi


class ContextualPsi:
    """Measures psi of the projections' real input: the output of the layer below, in GPT-2 after the normalisation.

    W x is what a projection puts out less its bias, so no matrix product is done again.

    Args:
        model: as `AutoModel` loads it.
        layers: its projections, as `ops.model.head_projections` returns them.
    """

    def __init__(self, model: nn.Module, layers: list[LayerProjections]) -> None:
        self.model, self.layers = model, layers
        self.heads = layers[0].heads
        self._biases = [layer.bias for layer in layers]

    def read(self, inputs: dict[str, torch.Tensor], real: torch.Tensor) -> torch.Tensor:
        """Run the model and return psi of every real token, `[tokens, layers, 4, heads]` float32.

        Args:
            inputs: what the model takes.
            real: which tokens are no padding, `[sentences, longest]` bool; the result has them in this order.
        """
        shape = (int(real.sum()), len(self.layers), len(VALUES), self.heads)
        values = torch.empty(shape, dtype=torch.float32, device=real.device)
        handles = []
        try:
            for i, layer in enumerate(self.layers):
                norm: list[torch.Tensor] = []
                each = len(PROJECTIONS) // len(layer.modules)
                for m, module in enumerate(layer.modules):
                    hook = self._hook(i, slice(m * each, (m + 1) * each), values, real, norm)
                    handles.append(module.register_forward_hook(hook))
            self.model(**inputs)
        finally:
            for handle in handles:
                handle.remove()
        torch.prod(values[:, :, : len(PROJECTIONS)], 2, out=values[:, :, len(PROJECTIONS)])
        return values

    def _hook(
        self, layer: int, which: slice, values: torch.Tensor, real: torch.Tensor, norm: list[torch.Tensor]
    ) -> Any:
        """Return a hook that writes psi of the projections `which`; the layer's first one leaves ||x|| in `norm`."""
        bias = self._biases[layer][which]

        def hook(module: nn.Module, args: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
            x = args[0]
            if not norm:
                norm.append(torch.linalg.vector_norm(x[real].float(), dim=-1).view(-1, 1))
            projected = output[real].float().view(-1, *bias.shape).sub_(bias)
            values[:, layer, which] = psi(projected, norm[0], x.shape[-1])

        return hook
