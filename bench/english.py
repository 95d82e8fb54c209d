"""Measures how fast the shipped pipeline annotates raw text with words, tags and brackets, in words per CPU-second.

    python -m bench.english [FILE]

FILE contains one sentence per line; without it, the paragraphs of Python's own language reference are read.
The benchmark uses one thread. Expect 20,000 to 24,000 words per CPU-second on a mixture of news, tweets, books and
reviews, on one core of a shared AMD EPYC at 2.6 GHz. The language reference is slower, because its sentences are
longer.
Every sentence must come back with one leaf per word, or the benchmark fails.
"""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from pydoc_data.topics import topics

import torch

from ops.penn import leaves, read
from ops.sentences.pipeline import SHIPPED, Annotator

SENTENCES = 4_000
ROUNDS = 3


def sentences(path: Path | None) -> list[str]:
    """Return at most SENTENCES lines of the file, or paragraphs of the language reference."""
    if path is not None:
        found = path.read_text(encoding="utf-8").splitlines()
    else:
        found = [" ".join(p.split()) for name in sorted(topics) for p in topics[name].split("\n\n")]
    return [text for text in found if text.strip()][:SENTENCES]


def measure(texts: Sequence[str]) -> dict[str, float]:
    """Return the best of ROUNDS rounds over the texts, after one warm-up round."""
    torch.set_num_threads(1)
    annotator = Annotator(SHIPPED)
    annotator.annotate(list(texts))
    seconds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        found = annotator.annotate(list(texts))
        seconds.append(time.process_time() - start)
    for words, tags, tree in found:
        read_back = [leaf.word for leaf in leaves(read(tree))] if tree else []
        if words != read_back or tags is None or not all(tags):
            raise RuntimeError(f"{words}: tags {tags} and a tree over {read_back}, expected one leaf and tag per word")
    count = sum(len(words) for words, _, _ in found)
    return {
        "sentences": len(texts),
        "words": count,
        "cpu_seconds": round(min(seconds), 3),
        "words_per_cpu_second": round(count / min(seconds)),
    }


def main() -> int:
    """Print one line of JSON."""
    # --json is accepted by all benchmarks; this one always prints JSON.
    files = [argument for argument in sys.argv[1:] if argument != "--json"]
    path = Path(files[0]) if files else None
    print(json.dumps({"bench": "english", **measure(sentences(path))}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
