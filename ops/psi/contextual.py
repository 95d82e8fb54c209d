"""The psi of every token in every head over real text, measured during the forward pass (Maeda 2024)."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from ops.model.attention_modules import PROJECTIONS, LayerProjections
from ops.model.batches import pad
from ops.model.tokenizer import Tokens
from ops.psi.psi import VALUES, psi
from ops.reducers.grouped_moments import GroupedSums
from ops.shards import Ids


class ContextualPsi:
    """Measures psi for the real input of the projections: the output of the layer below, in GPT-2 after normalisation.

    W x is a projection's output minus its bias, so no matrix product is computed again.

    Args:
        model: a model as `AutoModel` loads it.
        layers: the projections of the model, as `ops.model.attention_modules` returns them.
    """

    def __init__(self, model: nn.Module, layers: list[LayerProjections]) -> None:
        self.model, self.layers = model, layers
        self.heads = layers[0].heads
        self._biases = [layer.bias for layer in layers]

    def read(self, inputs: dict[str, torch.Tensor], real: torch.Tensor) -> torch.Tensor:
        """Run the model and return psi of every real token, `[tokens, layers, 4, heads]` float32.

        Args:
            inputs: the inputs of the model.
            real: which positions are tokens and not padding, `[sentences, longest]` bool; the result has the tokens in
                this order.
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

    @torch.inference_mode()
    def add(self, sent_ids: Ids, tokens: Sequence[Tokens], pad_id: int, sums: GroupedSums) -> list[int]:
        """Add psi of a batch's tokens to sums, and return the ids of sentences skipped because of non-finite values.

        Args:
            sent_ids: the ids of the sentences, `[sentences]`.
            tokens: the tokens of each sentence.
            pad_id: the id of the padding token.
            sums: the sums, with layers * 4 * heads columns, on the model's device.
        """
        device = sums.count.device
        ids, real, _ = pad(tokens, pad_id, device)
        values = self.read({"input_ids": ids, "attention_mask": real.long()}, real).flatten(1)
        ids = ids[real]
        finite = torch.isfinite(values).all(1)
        if bool(finite.all()):
            sums.update(ids, values)
            return []
        sentence = torch.nonzero(real)[:, 0]
        good = torch.ones(len(tokens), dtype=torch.bool, device=device)
        good[sentence[~finite]] = False
        sums.update(ids[good[sentence]], values[good[sentence]])
        return [int(i) for i in sent_ids[~good.cpu().numpy()]]

    def _hook(
        self, layer: int, which: slice, values: torch.Tensor, real: torch.Tensor, norm: list[torch.Tensor]
    ) -> Any:
        """Return a hook that writes psi of the projections `which`; a layer's first hook stores ||x|| in `norm`."""
        bias = self._biases[layer][which]

        def hook(module: nn.Module, args: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
            x = args[0]
            if not norm:
                norm.append(torch.linalg.vector_norm(x[real].float(), dim=-1).view(-1, 1))
            projected = output[real].float().view(-1, *bias.shape).sub_(bias)
            values[:, layer, which] = psi(projected, norm[0], x.shape[-1])

        return hook
