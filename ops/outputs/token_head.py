"""A model with the head that scores tokens, and that head as one matrix: its Jacobian at a mean state.

The computation after the last layer is not reimplemented here. The model itself runs on one token, and the output of
its last layer is replaced by the given states. So all of these are computed by the model's own code: the final
normalisation, BERT's dense layer with its activation and LayerNorm, the unembedding, and any factor or soft cap of the
logits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from ops.errors import InputError, with_article
from ops.model.batches import pad
from ops.model.direction import is_decoder
from ops.model.heads import MASKED_WORD, load_head
from ops.model.load import ModelFacts, load_model
from ops.model.numerics import set_numerics
from ops.model.sites import find_layers
from ops.model.tokenizer import Tokens
from ops.shards import spans

# The place at which a unit's direction enters the head: the stream after the last layer, or the model's output, which
# in most decoders comes after a final normalisation.
Entry = Literal["stream", "output"]
ENTRIES: tuple[Entry, ...] = ("stream", "output")

_LOGITS_AT_ONCE = 1 << 24
_TOLERANCE = 1e-3  # for a gradient through the complete head, relative to the gradient's length


@dataclass(frozen=True)
class LinearHead:
    """A head as a linear function of a change of its input.

    Attributes:
        inside: the Jacobian of the unembedding's input, `[inside, width]` float32.
        unembedding: the matrix of the unembedding, `[vocabulary, inside]` float32.
        scale: the derivative of each logit with respect to the unembedding's output, `[vocabulary]` float32; all ones
            unless the model scales or caps its logits.
        tokens: the ids of the tokens whose logits are returned, ascending, `[tokens]` int64.
    """

    inside: torch.Tensor
    unembedding: torch.Tensor
    scale: torch.Tensor
    tokens: torch.Tensor

    def logits(self, directions: torch.Tensor) -> torch.Tensor:
        """Return the changes of the tokens' logits for directions `[units, width]`, `[units, tokens]` float32."""
        found = (directions.to(self.inside) @ self.inside.T) @ self.unembedding.T * self.scale
        return found if len(self.tokens) == found.shape[1] else found[:, self.tokens]


class TokenHead:
    """A model with its head, ready to run in float32.

    Args:
        device, threads: the device and the number of threads that compute.

    Raises:
        InputError: the weights have no head that scores tokens, or it is not known what the head reads.
    """

    def __init__(self, facts: ModelFacts, device: str = "cpu", threads: int | None = 1) -> None:
        set_numerics(device, threads)
        self.facts, self.device = facts, torch.device(device)
        model: Any = load_token_head(facts, device)
        self.model: Any = model.requires_grad_(False)
        # If the decoder is inside another module of the model, the head reads only the decoder's output (OPT).
        inner = model.get_decoder() if is_decoder(facts) else None
        self.body: nn.Module = model.base_model if inner in (None, model) else inner
        self.layer_modules = find_layers(self.body, facts.layers)
        unembedding = model.get_output_embeddings()
        if not isinstance(unembedding, nn.Linear) or self.body is model:
            raise _unknown(facts, "it has no single matrix that scores tokens")
        self.unembedding = unembedding
        self._places: dict[Entry, nn.Module] = {
            "stream": self.layer_modules[-1] if self.layer_modules else self.body,
            "output": self.body,
        }

    def logits(self, states: torch.Tensor, entry: Entry) -> torch.Tensor:
        """Return the logits that the head computes from states `[n, width]`, `[n, vocabulary]`."""
        return self._run(states, entry)[2]

    def _run(self, states: torch.Tensor, entry: Entry) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the unembedding's input `[n, inside]` for some states, its output, and the logits `[n, tokens]`."""
        found: list[torch.Tensor] = []

        def take(module: nn.Module, args: Any, output: torch.Tensor) -> None:
            found.extend((args[0], output))

        token = torch.ones(1, 1, dtype=torch.int64, device=self.device)
        with self.unembedding.register_forward_hook(take), replacing(self._places[entry], states[:, None]):
            logits = self.model(input_ids=token, attention_mask=token).logits
        if len(found) != 2 or logits.numel() != len(states) * self.unembedding.out_features:
            raise _unknown(self.facts, "its last layer's states are not all that the head reads")
        read, leaving = found
        return read.reshape(len(states), -1), leaving, logits.reshape(len(states), -1)

    def linearise(self, mean: torch.Tensor, entry: Entry, tokens: torch.Tensor) -> LinearHead:
        """Return the head's Jacobian at a state, as a product of matrices.

        Args:
            mean: the state, `[width]`.
            entry: the place at which the state enters the head.
            tokens: the ids of the tokens whose logits are returned, ascending, `[tokens]` int64.

        Raises:
            InputError: the gradient of the complete head differs, so the head does not have the form assumed here.
        """
        at = mean.to(self.device, torch.float32)
        size = self.unembedding.in_features
        rows = [
            self._inside(at, entry, first, stop)
            for first, stop in spans(size, max(_LOGITS_AT_ONCE // self.unembedding.out_features, 1))
        ]
        with torch.enable_grad():
            state = at[None].clone().requires_grad_()
            _, leaving, logits = self._run(state, entry)
            (scale,) = torch.autograd.grad(logits.sum(), leaving, retain_graph=True)
            weights = torch.linspace(-1, 1, logits.shape[1], device=self.device).sin()
            (whole,) = torch.autograd.grad((logits[0] * weights).sum(), state)
        head = LinearHead(torch.cat(rows), self.unembedding.weight, scale.flatten(), tokens.to(self.device))
        by_parts = (weights * head.scale) @ head.unembedding @ head.inside
        if not bool((by_parts - whole[0]).norm() <= _TOLERANCE * whole[0].norm()):
            raise _unknown(self.facts, "its logits do not follow token by token from one matrix")
        return head

    def _inside(self, at: torch.Tensor, entry: Entry, first: int, stop: int) -> torch.Tensor:
        """Return rows of the Jacobian of the unembedding's input: each is one value's gradient at a copy of `at`."""
        with torch.enable_grad():
            copies = at.repeat(stop - first, 1).requires_grad_()
            read, _, _ = self._run(copies, entry)
            index = torch.arange(stop - first, device=self.device)
            (rows,) = torch.autograd.grad(read[index, first + index].sum(), copies)
        return rows

    @torch.inference_mode()
    def state_sums(self, batch: Sequence[Tokens], pad_id: int) -> tuple[dict[Entry, torch.Tensor], int]:
        """Return the sums of a batch's states at both entries, `[width]` float64, and the number of summed tokens."""
        inputs, counted = self.inputs(batch, pad_id)
        found: dict[Entry, torch.Tensor] = {}

        def take(module: nn.Module, args: Any, output: Any) -> None:
            found["stream"] = output if isinstance(output, torch.Tensor) else output[0]

        with self._places["stream"].register_forward_hook(take):
            found["output"] = self.body(**inputs)[0]
        shape = counted.shape
        sums = {entry: found[entry].reshape(*shape, -1)[counted].sum(0, dtype=torch.float64).cpu() for entry in ENTRIES}
        return sums, int(counted.sum())

    def inputs(self, batch: Sequence[Tokens], pad_id: int) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        """Return the model's inputs for a batch, and which of its tokens count, `[sentences, tokens]` bool.

        Tokens that the tokenizer added do not count. In a decoder, the first token does not count either, because its
        state is disproportionately large.
        """
        ids, real, added = pad(batch, pad_id, self.device)
        counted = real & ~added
        if is_decoder(self.facts):
            counted[:, 0] = False
        return {"input_ids": ids, "attention_mask": real.long()}, counted


def replacing(module: nn.Module, states: torch.Tensor) -> RemovableHandle:
    """Make a module return these states, in the form in which it returns its own, until the handle is removed."""
    return module.register_forward_hook(lambda module, args, output: with_states(output, states))


def with_states(output: Any, states: torch.Tensor) -> Any:
    """Return a module's output, which is a tensor, a tuple or a model's output, with its states replaced.

    A model's output is changed in place.
    """
    if isinstance(output, torch.Tensor):
        return states
    if hasattr(output, "last_hidden_state"):
        output.last_hidden_state = states
        return output
    return type(output)((states, *output[1:]))


def load_token_head(facts: ModelFacts, device: str) -> nn.Module:
    """Load a model with the head that scores tokens: next tokens for a decoder, masked tokens for an encoder.

    Raises:
        InputError: the weights have no such head, or cannot be read.
    """
    if is_decoder(facts):
        return load_model(facts, device, "float32", predicts=True)
    model = load_head(facts, MASKED_WORD, device, "float32")
    if model is None:
        raise InputError(
            f"--model {facts.name}: has no head that scores tokens, so its units promote none; outputs takes decoders "
            "such as gpt2, and encoders with a masked-word head such as bert-base-uncased"
        )
    return model


def _unknown(facts: ModelFacts, why: str) -> InputError:
    kind = with_article(facts.model_type)
    return InputError(f"--model {facts.name}: is {kind}, whose head cannot be taken apart ({why}); give another model")
