"""Encoding of texts for this measurement: optionally with an answer, a start token and another maximum length."""

from collections.abc import Iterator
from dataclasses import replace

from ops.errors import InputError
from ops.model.batches import TokenBlock, length_batches
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer, Tokens
from ops.shards import Ids


class Encoder:
    """Encodes texts.

    Attributes:
        limit: maximum number of tokens of a text.
        is_plain: whether the encoding is that of the model's tokenizer without options, which ingest has stored.

    Args:
        max_tokens: maximum number of tokens of a text, including special tokens and the start token; None means the
            model's limit.
        start_token: whether to put a start token before each text, so that the text's first token is predicted too.

    Raises:
        InputError: the tokenizer cannot be loaded, or a start token is requested but the tokenizer has none.
    """

    def __init__(self, facts: ModelFacts, max_tokens: int | None = None, start_token: bool = False) -> None:
        self.limit = min(max_tokens or facts.position_limit, facts.position_limit)
        self.tokenizer = Tokenizer(replace(facts, position_limit=self.limit - start_token))
        self.is_plain = self.limit == facts.position_limit and not start_token
        self.start = self.tokenizer.start_id if start_token else None
        if start_token and self.start is None:
            raise InputError(f"--start-token: the tokenizer of {facts.name} has none; leave the option out")

    def __call__(self, texts: list[str]) -> list[Tokens]:
        """Return the tokens of each text."""
        tokens = self.tokenizer.encode(texts)
        if self.start is None:
            return tokens
        return [Tokens([self.start, *t.ids], [1, *t.added], t.cut) for t in tokens]

    def batches(self, sent_ids: Ids, texts: list[str], budget: int) -> Iterator[tuple[Ids, TokenBlock]]:
        """Yield batches of texts of similar length; the batches depend only on the texts and the budget.

        Args:
            sent_ids: the ids of the texts, `[texts]`.
            budget: as `length_batches` takes it.
        """
        block = TokenBlock.of(self(texts))
        for rows in length_batches(block.lengths, budget):
            yield sent_ids[rows], block.take(rows)
