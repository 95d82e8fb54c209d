"""The model's state where a word was blanked, in every layer."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from ops.model.activations import ScoreOptions, Scorer
from ops.model.batches import length_batches, pad
from ops.model.check_states import lengths_of_batches
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer, Tokens

Floats = npt.NDArray[np.float32]


class Blank(NamedTuple):
    """A sentence with a blank: its tokens, and the place of the one whose state is read."""

    tokens: Tokens
    place: int


class BlankReader:
    """A model that reads sentences with a word blanked by its mask token; a decoder, or one without it, what is before.

    Sets how torch computes in this process (`ops.model.numerics`).

    Args:
        facts, tokenizer: the model; its tokenizer has spans.
        device, dtype, threads, token_budget: where and how it computes, and the tokens of a batch.

    Raises:
        InputError: the model cannot be loaded, or what is read of it is not what it computes.
    """

    def __init__(
        self, facts: ModelFacts, tokenizer: Tokenizer, device: str, dtype: str, threads: int | None, token_budget: int
    ) -> None:
        self.device, self.tokenizer, self.token_budget = torch.device(device), tokenizer, token_budget
        self.layers, self.width = facts.layers, facts.width
        self.mask = None if facts.decoder or tokenizer.mask_id is None else tokenizer.decode([tokenizer.mask_id])[0]
        scorer = Scorer(facts, ScoreOptions(device=device, dtype=dtype, threads=threads or 1), tokenizer.pad_id)
        self.reader = scorer.reader
        self._lengths = lengths_of_batches(scorer, tokenizer)

    def blanks(self, texts: list[str], spans: list[tuple[int, int]]) -> list[Blank | None]:
        """Return each sentence with the characters of its span blanked; None where nothing is left to be read.

        That is so where the blank was cut off, and without a mask token where the word is the first one.
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

    @torch.inference_mode()
    def read(self, blanks: list[Blank]) -> Floats:
        """Return the states at the blanks, `[blanks, layers, width]` float32."""
        states = np.zeros((len(blanks), self.layers, self.width), np.float32)
        lengths = np.array([len(blank.tokens.ids) for blank in blanks], np.int64)
        for rows in length_batches(lengths, self.token_budget, self._lengths):
            ids, real, _ = pad([blanks[row].tokens for row in rows], self.tokenizer.pad_id, self.device)
            at = torch.tensor([blanks[row].place for row in rows], device=self.device)
            here = torch.arange(len(rows), device=self.device)
            inputs = {"input_ids": ids, "attention_mask": real.long()}
            found = self.reader.read(inputs, lambda layer, here=here, at=at: layer[here, at].float().cpu())  # type: ignore[misc]
            states[rows] = torch.stack(found, 1).numpy()
        return states
