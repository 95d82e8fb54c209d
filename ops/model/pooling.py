"""Pooling of one vector per token to one vector per sentence.

torch is imported only by code that pools states, because the command line imports `Pool` for the choices of `--pool`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from ops.errors import InputError
from ops.model.names import ModelFacts

if TYPE_CHECKING:
    import torch

Pool = Literal["mean", "max", "cls", "last"]
POOLS: tuple[Pool, ...] = get_args(Pool)


def check_pool(pool: str, special_tokens: str, facts: ModelFacts, has_cls: bool) -> None:
    """Refuse a way of pooling that leaves no token or does not fit the model.

    Args:
        pool: one of `POOLS`.
        special_tokens: `include` or `exclude` the tokens that the tokenizer added.
        has_cls: whether the model's tokenizer puts [CLS] first.
    """
    from ops.model.direction import is_decoder

    if pool != "cls":
        return
    if special_tokens == "exclude":
        raise InputError("--pool cls with --special-tokens exclude: leaves no token; choose one of the two")
    if not has_cls:
        raise InputError(f"--pool cls: the tokenizer of {facts.name} puts no [CLS] first; use --pool mean")
    if is_decoder(facts):
        raise InputError(
            f"--pool cls: {facts.name} is a decoder, whose first token sees no other; use --pool last or mean"
        )


class Pooler:
    """Pools hidden states over the tokens of one padded batch.

    `mean` averages over tokens, as in Oba 2021. `max` takes each unit's highest value, `cls` takes the first token, and
    `last` takes the last token that counts.

    Args:
        pool: `mean`, `max`, `cls` or `last`.
        counted: which tokens count, `[sentences, tokens]` bool; the mean and the last of none are NaN.
        whole: whether all tokens count. If it is None, this is read from the device, which waits for the device.
        queued: whether torch pools in the device's queue; otherwise a compiled function pools on the CPU.
    """

    def __init__(self, pool: str, counted: torch.Tensor, whole: bool | None = None, queued: bool = False) -> None:
        import torch

        self.pool = pool
        self.counted = counted
        self.whole = bool(counted.all()) if whole is None else whole
        self.queued = queued
        self.tokens = counted.sum(1, keepdim=True).float()
        place = torch.arange(counted.shape[1], device=counted.device)
        self.last = torch.where(counted, place, -1).amax(1)

    def __call__(self, states: torch.Tensor) -> torch.Tensor:
        """Return `states`, `[sentences, tokens, units]`, pooled to `[sentences, units]`.

        float64 stays float64; every other float type is pooled in float32.

        Raises:
            ValueError: the shape of `states` differs from that of `counted`, as happens if a model pads further itself.
        """
        import torch

        if states.dim() != 3 or states.shape[:2] != self.counted.shape:
            raise ValueError(f"states {tuple(states.shape)} for {tuple(self.counted.shape)} tokens")
        wide = torch.float64 if states.dtype == torch.float64 else torch.float32
        if self.pool == "cls":
            return states[:, 0].to(wide)
        if self.pool == "last":
            last = states[torch.arange(len(states), device=states.device), self.last].to(wide)
            return last.masked_fill(self.tokens == 0, torch.nan)
        if self.pool == "max":
            return (states if self.whole else states.masked_fill(~self.counted[..., None], -torch.inf)).amax(1).to(wide)
        if not self.queued:
            from ops.model.compiled_pooling import mean_of_counted

            return torch.from_numpy(mean_of_counted(states.to(wide).contiguous().numpy(), self.counted.numpy()))
        # The sum converts each number to the wider type; a float32 copy of the states would be another pass over them.
        counted = states if self.whole else states.masked_fill(~self.counted[..., None], 0.0)
        return counted.sum(1, dtype=wide) / self.tokens
