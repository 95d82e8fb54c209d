"""A model with the head that scores tokens, and that head as one matrix: its Jacobian at a mean state.

What comes after the last layer is never written out again here. The model itself runs on one token, and what its last
layer returns is replaced by the states that are asked about. So the final normalisation, BERT's dense layer with its
activation and LayerNorm, the unembedding, a factor or a soft cap of the logits are the model's own code.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn

from ops.errors import InputError, with_article
from ops.model.batches import pad
from ops.model.heads import MASKED_WORD, load_head
from ops.model.load import ModelFacts, load_model
from ops.model.numerics import set_numerics
from ops.model.sites import find_layers
from ops.model.tokenizer import Tokens
from ops.shards import spans

# Where a unit's direction enters the head: the stream after the last layer, or what the model returns, which in most
# decoders comes after a final normalisation.
Entry = Literal["stream", "output"]
ENTRIES: tuple[Entry, ...] = ("stream", "output")

_LOGITS_AT_ONCE = 1 << 24
_TOLERANCE = 1e-3  # of a gradient through the whole head, relative to its length


@dataclass(frozen=True)
class LinearHead:
    """A head as a linear function of a change of its input.

    Attributes:
        inside: Jacobian of what the unembedding reads, `[inside, width]` float32.
        unembedding: `[vocabulary, inside]` float32.
        scale: derivative of each logit by what the unembedding returns for it, `[vocabulary]` float32: all ones unless
            the model scales or caps its logits.
        tokens: ids of the tokens that are looked at, ascending, `[tokens]` int64.
    """

    inside: torch.Tensor
    unembedding: torch.Tensor
    scale: torch.Tensor
    tokens: torch.Tensor

    @property
    def width(self) -> int:
        """Values of a direction."""
        return int(self.inside.shape[1])

    def logits(self, directions: torch.Tensor) -> torch.Tensor:
        """Return the change of the tokens' logits by directions `[units, width]`, `[units, tokens]` float32."""
        found = (directions.to(self.inside) @ self.inside.T) @ self.unembedding.T * self.scale
        return found if len(self.tokens) == found.shape[1] else found[:, self.tokens]


class TokenHead:
    """A model with its head, ready to run in float32.

    Args:
        facts: the model.
        device, threads: where it computes.

    Raises:
        InputError: its weights have no head that scores tokens, or what the head reads is not known.
    """

    def __init__(self, facts: ModelFacts, device: str = "cpu", threads: int | None = 1) -> None:
        set_numerics(device, threads)
        self.facts, self.device = facts, torch.device(device)
        model: Any = load_token_head(facts, device)
        self.model: Any = model.requires_grad_(False)
        # Where a model holds its decoder inside another module, its head reads the decoder alone (OPT).
        inner = model.get_decoder() if facts.decoder else None
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
        """Return what the head makes of states `[n, width]`: the logits, `[n, vocabulary]`."""
        return self._run(states, entry)[2]

    def _run(self, states: torch.Tensor, entry: Entry) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return what the unembedding reads of states, `[n, inside]`, what it returns, and the logits `[n, tokens]`."""
        found: list[torch.Tensor] = []

        def take(module: nn.Module, args: Any, output: torch.Tensor) -> None:
            found.extend((args[0], output))

        token = torch.ones(1, 1, dtype=torch.int64, device=self.device)
        handle = self.unembedding.register_forward_hook(take)
        try:
            with replacing(self._places[entry], states[:, None]):
                logits = self.model(input_ids=token, attention_mask=token).logits
        finally:
            handle.remove()
        if len(found) != 2 or logits.numel() != len(states) * self.unembedding.out_features:
            raise _unknown(self.facts, "its last layer's states are not all that the head reads")
        read, leaving = found
        return read.reshape(len(states), -1), leaving, logits.reshape(len(states), -1)

    def linearise(self, mean: torch.Tensor, entry: Entry, tokens: torch.Tensor) -> LinearHead:
        """Return the head's Jacobian at a state, as a product of matrices.

        Args:
            mean: the state, `[width]`.
            entry: where it enters the head.
            tokens: ids of the tokens that are looked at, ascending, `[tokens]` int64.

        Raises:
            InputError: the whole head's gradient at the state is another, so that it is not of the form that is known.
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
        found = LinearHead(torch.cat(rows), self.unembedding.weight, scale.flatten(), tokens.to(self.device))
        by_parts = (weights * found.scale) @ found.unembedding @ found.inside
        if not bool((by_parts - whole[0]).norm() <= _TOLERANCE * whole[0].norm()):
            raise _unknown(self.facts, "its logits do not follow token by token from one matrix")
        return found

    def _inside(self, at: torch.Tensor, entry: Entry, first: int, stop: int) -> torch.Tensor:
        """Return rows of the Jacobian of what the unembedding reads: each is one value's gradient at a copy of `at`."""
        with torch.enable_grad():
            copies = at.repeat(stop - first, 1).requires_grad_()
            read, _, _ = self._run(copies, entry)
            own = torch.arange(stop - first, device=self.device)
            (rows,) = torch.autograd.grad(read[own, first + own].sum(), copies)
        return rows

    @torch.inference_mode()
    def state_sums(self, batch: Sequence[Tokens], pad_id: int) -> tuple[dict[Entry, torch.Tensor], int]:
        """Return the sums of a batch's states at both entries, `[width]` float64, and how many tokens they are of."""
        inputs, counted = self.inputs(batch, pad_id)
        found: dict[Entry, torch.Tensor] = {}

        def take(module: nn.Module, args: Any, output: Any) -> None:
            found["stream"] = output if isinstance(output, torch.Tensor) else output[0]

        handle = self._places["stream"].register_forward_hook(take)
        try:
            found["output"] = self.body(**inputs)[0]
        finally:
            handle.remove()
        shape = counted.shape
        sums = {entry: found[entry].reshape(*shape, -1)[counted].sum(0, dtype=torch.float64).cpu() for entry in ENTRIES}
        return sums, int(counted.sum())

    def inputs(self, batch: Sequence[Tokens], pad_id: int) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        """Return what the model takes of a batch, and which of its tokens count, `[sentences, tokens]` bool.

        Tokens that the tokenizer added do not count, nor does a decoder's first token, whose state is out of all
        proportion.
        """
        ids, real, added = pad(batch, pad_id, self.device)
        counted = real & ~added
        if self.facts.decoder:
            counted[:, 0] = False
        return {"input_ids": ids, "attention_mask": real.long()}, counted


@contextmanager
def replacing(module: nn.Module, states: torch.Tensor) -> Iterator[None]:
    """Have a module return these states inside the `with`, in the form in which it returns its own."""

    def hook(module: nn.Module, args: Any, output: Any) -> Any:
        return with_states(output, states)

    handle = module.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


def with_states(output: Any, states: torch.Tensor) -> Any:
    """Return what a module returned with other states in the place of its own: a tensor, a tuple or a model's output.

    A model's output is changed.
    """
    if isinstance(output, torch.Tensor):
        return states
    if hasattr(output, "last_hidden_state"):
        output.last_hidden_state = states
        return output
    return type(output)((states, *output[1:]))


def load_token_head(facts: ModelFacts, device: str) -> nn.Module:
    """Load a model with the head that scores tokens: the next one of a decoder, masked ones of an encoder.

    Raises:
        InputError: its weights have no such head, or cannot be read.
    """
    if facts.decoder:
        return load_model(facts, device, "float32", predicts=True)
    found = load_head(facts, MASKED_WORD, device, "float32")
    if found is None:
        raise InputError(
            f"--model {facts.name}: has no head that scores tokens, so its units promote none; outputs takes decoders "
            "such as gpt2, and encoders with a masked-word head such as bert-base-uncased"
        )
    return found


def _unknown(facts: ModelFacts, why: str) -> InputError:
    kind = with_article(facts.model_type)
    return InputError(f"--model {facts.name}: is {kind}, whose head cannot be taken apart ({why}); give another model")
