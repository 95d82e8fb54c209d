"""What the benchmarks of a model's passes share: batches of real sentences, and the plain model's pass over them."""

from collections.abc import Iterable, Sequence

import numpy as np
import torch

from bench.texts import draw
from ops.model.batches import TokenBlock, encode_batches, pad
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer, Tokens
from ops.shards import Ids

BUDGET = 2_048  # tokens of a batch, padding included
Batches = list[tuple[Ids, TokenBlock]]
Inputs = list[dict[str, torch.Tensor]]


def tokenized(facts: ModelFacts, sentences: int, seed: int) -> tuple[Tokenizer, Batches]:
    """Return a model's tokenizer, and real sentences in batches as a shard has them, with ids from 0."""
    tokenizer = Tokenizer(facts)
    return tokenizer, batches_of(tokenizer, draw(sentences, seed))


def batches_of(tokenizer: Tokenizer, texts: list[str], first: int = 0, budget: int = BUDGET) -> Batches:
    """Return the batches of a shard of these texts whose sentence ids start at `first`."""
    lengths = np.array([len(tokens.ids) for tokens in tokenizer.encode(texts)], np.int64)
    ids = np.arange(first, first + len(texts), dtype=np.int64)
    return list(encode_batches(ids, texts, lengths, tokenizer, budget))


def padded(batches: Iterable[Sequence[Tokens]], pad_id: int) -> Inputs:
    """Return batches in the form that a model of transformers takes, on the CPU."""
    inputs = []
    for batch in batches:
        ids, real, _ = pad(batch, pad_id, torch.device("cpu"))
        inputs.append({"input_ids": ids, "attention_mask": real.long()})
    return inputs


@torch.inference_mode()
def read_plainly(model: torch.nn.Module, inputs: Inputs, times: int = 1) -> None:
    """Run the model over all batches, `times` times."""
    for _ in range(times):
        for batch in inputs:
            model(**batch)
