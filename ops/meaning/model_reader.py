"""The parts shared by all readers of a model's states: the model, its tokenizer, and its batches."""

from collections.abc import Iterable, Iterator

import numpy as np

from ops.arrays import Int64s
from ops.model.activations import ScoreOptions, Scorer
from ops.model.batches import length_batches
from ops.model.check_states import lengths_of_batches
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer, Tokens


class ModelReader:
    """A model that reads sentences in batches.

    Creating a reader sets how torch computes in this process (`ops.model.numerics`).

    Args:
        facts, tokenizer: the model and its tokenizer.
        device, dtype, threads, token_budget: the device, arithmetic and number of threads of the model, and the maximum
            number of tokens of a batch.

    Raises:
        InputError: the model cannot be loaded, or the states that are read differ from the model's own hidden states.
    """

    def __init__(
        self, facts: ModelFacts, tokenizer: Tokenizer, device: str, dtype: str, threads: int | None, token_budget: int
    ) -> None:
        self.tokenizer, self.token_budget, self.facts = tokenizer, token_budget, facts
        self.layers, self.width = facts.layers, facts.width
        self.scorer = Scorer(facts, ScoreOptions(device=device, dtype=dtype, threads=threads or 1), tokenizer.pad_id)
        self.lengths = lengths_of_batches(self.scorer, tokenizer)

    def batches(self, tokens: Iterable[Tokens]) -> Iterator[Int64s]:
        """Return the row indices of each batch of sentences."""
        return length_batches(lengths_of(tokens), self.token_budget, self.lengths)


def lengths_of(tokens: Iterable[Tokens]) -> Int64s:
    """Return the number of tokens of each sentence, `[sentences]`."""
    return np.array([len(t.ids) for t in tokens], np.int64)
