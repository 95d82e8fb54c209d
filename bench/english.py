"""Measures how fast the shipped pipeline annotates raw text with words, tags and brackets, in words per CPU-second.

    python -m bench english --file sentences.txt

The benchmark uses one thread. Expect 20,000 to 24,000 words per CPU-second on a mixture of news, tweets, books and
reviews, on one core of a shared AMD EPYC at 2.6 GHz. The language reference is slower, because its sentences are
longer. The exit status is 1 if a sentence does not come back with one tag and one leaf per word.
"""

from pathlib import Path
from pydoc_data.topics import topics

import torch

from bench.harness import Result
from bench.resources import repeated
from ops.penn import leaves, read
from ops.sentences.pipeline import SHIPPED, Annotator

SENTENCES = 4_000
ROUNDS = 3


def measure(file: str | None = None) -> Result:
    """Annotate at most 4,000 sentences.

    Args:
        file: a file of one sentence per line; without it, the paragraphs of Python's own language reference are read.
    """
    lines = Path(file).read_text(encoding="utf-8").splitlines() if file else reference()
    texts = [text for text in lines if text.strip()][:SENTENCES]
    torch.set_num_threads(1)
    annotator = Annotator(SHIPPED)
    each, found = repeated(lambda: annotator.annotate(texts), ROUNDS)
    fastest = min(seconds.processor for seconds in each)
    whole = all(
        tags is not None and all(tags) and words == [leaf.word for leaf in leaves(read(tree))] if tree else not words
        for words, tags, tree in found
    )
    count = sum(len(words) for words, _, _ in found)
    return {
        "sentences": len(texts),
        "words": count,
        "cpu_seconds": round(fastest, 3),
        "words_per_cpu_second": round(count / fastest),
        "annotations_whole": whole,
    }


def reference() -> list[str]:
    """Return the paragraphs of Python's language reference."""
    return [" ".join(part.split()) for name in sorted(topics) for part in topics[name].split("\n\n")]
