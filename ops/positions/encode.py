"""Texts as tokens for this measurement: with or without an answer after each, a start token, and a cut of one's own."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ops.errors import InputError
from ops.model.batches import Lengths, length_batches
from ops.model.load import ModelFacts
from ops.model.token_block import TokenBlock
from ops.model.tokenizer import Tokenizer, Tokens
from ops.shards import Ids


@dataclass(frozen=True)
class Encoding:
    """How texts become tokens.

    Attributes:
        max_tokens: most tokens of a text, special ones and the start token included; None: what the model takes.
        start_token: whether a start token comes before each text, so that its first token is predicted too.
    """

    max_tokens: int | None = None
    start_token: bool = False


class Encoder:
    """Encodes texts.

    Attributes:
        limit: most tokens of a text.
        is_plain: whether it does as the model's tokenizer does by itself.

    Args:
        facts: the model.
        encoding: how.

    Raises:
        InputError: the tokenizer cannot be loaded, or has no start token where one is wanted.
    """

    def __init__(self, facts: ModelFacts, encoding: Encoding) -> None:
        self.limit = min(encoding.max_tokens or facts.position_limit, facts.position_limit)
        self.tokenizer = Tokenizer(replace(facts, position_limit=self.limit - encoding.start_token))
        self.is_plain = self.limit == facts.position_limit and not encoding.start_token
        self.start = self.tokenizer.start_id if encoding.start_token else None
        if encoding.start_token and self.start is None:
            raise InputError(f"--start-token: the tokenizer of {facts.name} has none; leave the option out")

    def __call__(self, texts: list[str]) -> list[Tokens]:
        """Return the tokens of each text."""
        found = self.tokenizer.encode(texts)
        if self.start is None:
            return found
        return [Tokens([self.start, *t.ids], [1, *t.added], t.cut) for t in found]

    def batches(
        self, sent_ids: Ids, texts: list[str], budget: int, lengths: Lengths = "mixed"
    ) -> Iterator[tuple[Ids, TokenBlock]]:
        """Return batches of texts of like length; they depend on the texts and the budget alone.

        Args:
            sent_ids: the texts' ids, `[texts]`.
            texts: the texts.
            budget, lengths: as `length_batches` takes them.
        """
        tokens = self(texts)
        for rows in length_batches(np.array([len(t.ids) for t in tokens], np.int64), budget, lengths):
            yield sent_ids[rows], TokenBlock.of([tokens[row] for row in rows])


def with_answers(texts: list[str], answers: list[str | None]) -> list[str]:
    """Return each text followed by its answer, where it has one.

    >>> with_answers(["Who?", "Why?"], ["Me.", None])
    ['Who? Me.', 'Why?']
    """
    return [f"{text} {answer}" if answer else text for text, answer in zip(texts, answers, strict=True)]
