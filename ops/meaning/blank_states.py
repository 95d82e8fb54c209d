"""The model's states in every layer at the position of a blanked word."""

from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import torch

from ops.arrays import Float32s
from ops.meaning.model_reader import ModelReader
from ops.model.tokenizer import Tokens


class Blank(NamedTuple):
    """A sentence with a blank: its tokens, and the index of the token whose state is read."""

    tokens: Tokens
    place: int


class BlankReader(ModelReader):
    """Reads sentences in which a word is replaced by the mask token.

    A model without a mask token reads only the words before the blank. The tokenizer must report the positions of
    tokens.
    """

    @cached_property
    def mask(self) -> str | None:
        """The mask token as text; None for a decoder and for a model without one."""
        number = self.tokenizer.mask_id
        return None if self.decoder or number is None else self.tokenizer.decode([number])[0]

    def blanks(self, texts: list[str], spans: list[tuple[int, int]]) -> list[Blank | None]:
        """Return each sentence with the characters of its span blanked; None if nothing is left to read.

        This happens if the blank was cut off or, without a mask token, if the word is the first one.
        """
        if self.mask is None:
            given = [text[:start].rstrip() for text, (start, _) in zip(texts, spans, strict=True)]
        else:
            given = [text[:start] + self.mask + text[stop:] for text, (start, stop) in zip(texts, spans, strict=True)]
        found: list[Blank | None] = []
        for (tokens, _, places), (start, _) in zip(self.tokenizer.encode_with_spans(given), spans, strict=True):
            if self.mask is None:
                at = [] if tokens.cut else [i for i, added in enumerate(tokens.added) if not added][-1:]
            else:
                at = [
                    i for i, (number, place) in enumerate(zip(tokens.ids, places, strict=True))
                    if number == self.tokenizer.mask_id and place is not None and place[0] <= start < place[1]
                ]  # fmt: skip
            found.append(Blank(tokens, at[0]) if at else None)
        return found

    def read(self, blanks: list[Blank]) -> Float32s:
        """Return the states at the blanks, `[blanks, layers, width]` float32."""
        states = np.zeros((len(blanks), self.layers, self.width), np.float32)
        for rows in self.batches(blank.tokens for blank in blanks):
            at = torch.tensor([blanks[row].place for row in rows], device=self.scorer.device)
            take = partial(_states_at, torch.arange(len(rows), device=self.scorer.device), at)
            found = self.scorer.read_tokens([blanks[row].tokens for row in rows], [take] * self.layers)
            states[rows] = torch.stack(found, 1).numpy()
        return states


def _states_at(sentence: torch.Tensor, token: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
    return states[sentence, token].float().cpu()
