"""How long the model of `meaning` takes to read sentences, by some of them."""

import time
from collections.abc import Sequence

from jobs.stage.corpus_pass import PassArgs
from ops.meaning.sentence_states import SentenceReader
from ops.model.tokenizer import Tokenizer

TIMED = 200  # sentences


def time_sentences(
    args: PassArgs, tokenizer: Tokenizer, texts: Sequence[str], layers: list[int] | None = None
) -> tuple[float, int]:
    """Return the seconds of reading some of these sentences, and how many they were.

    Args:
        args: the model, and where it runs.
        tokenizer: the model's.
        texts: the sentences.
        layers: those wanted; none given: all.
    """
    reader = SentenceReader(args.facts, tokenizer, args.device, args.dtype, args.threads, args.token_budget)
    tokens = tokenizer.encode(list(texts[:: max(len(texts) // TIMED, 1)]))
    reader.read(tokens[:8], layers)
    started = time.perf_counter()
    reader.read(tokens, layers)
    return time.perf_counter() - started, len(tokens)
