"""The model's states in every layer at the position of a blanked word."""

from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import torch

from ops.arrays import Float32s
from ops.meaning.model_reader import ModelReader
from ops.model.direction import is_decoder
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
    def mask(self) -> int | None:
        """The id of the mask token; None for a decoder and for a model without one."""
        return None if self.tokenizer.mask_id is None or is_decoder(self.facts) else self.tokenizer.mask_id

    def blanks(self, texts: list[str], spans: list[tuple[int, int]]) -> list[Blank | None]:
        """Return each sentence with the characters of its span blanked; None if nothing is left to read.

        This happens if the blank was cut off or, without a mask token, if the word is the first one.
        """
        if self.mask is None:
            return [self._last_token(text[:start].rstrip()) for text, (start, _) in zip(texts, spans, strict=True)]
        found: list[Blank | None] = []
        for (tokens, _, places), (start, stop) in zip(self.tokenizer.encode_with_spans(texts), spans, strict=True):
            word = [i for i, place in enumerate(places) if place is not None and place[0] < stop and start < place[1]]
            if word:
                blank = slice(word[0], word[-1] + 1)
                tokens.ids[blank], tokens.added[blank] = [self.mask], [0]
            found.append(Blank(tokens, word[0]) if word else None)
        return found

    def _last_token(self, text: str) -> Blank | None:
        (tokens,) = self.tokenizer.encode([text])
        own = [i for i, added in enumerate(tokens.added) if not added]
        return Blank(tokens, own[-1]) if own and not tokens.cut else None

    def read(self, blanks: list[Blank]) -> Float32s:
        """Return the states at the blanks, `[blanks, layers, width]` float32."""
        states = np.zeros((len(blanks), self.layers, self.width), np.float32)
        for rows in self.batches(blank.tokens for blank in blanks):
            at = torch.tensor([blanks[row].place for row in rows], device=self.scorer.device)
            take = partial(_states_at, torch.arange(len(rows), device=self.scorer.device), at)
            of_layers = self.scorer.read_tokens([blanks[row].tokens for row in rows], [take] * self.layers)
            states[rows] = torch.stack(of_layers, 1).numpy()
        return states


def _states_at(sentence: torch.Tensor, token: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
    return states[sentence, token].float().cpu()
