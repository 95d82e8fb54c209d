"""Raw text to tags and brackets with the shipped English pipeline: words per CPU-second on one thread.

    python -m bench.english [FILE]

FILE holds one sentence per line; without it, the paragraphs of Python's own language reference are read.
What to expect: 16,000 on one core of an AMD EPYC at 2.6 GHz that others load too.
Every sentence must come back with one leaf per word, or the benchmark fails.
"""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from pydoc_data.topics import topics

import torch

import ops.english
from ops.penn import leaves, read

SENTENCES = 4_000
ROUNDS = 3


def sentences(path: Path | None) -> list[str]:
    """At most SENTENCES lines of the file, or paragraphs of the language reference."""
    if path is not None:
        found = path.read_text(encoding="utf-8").splitlines()
    else:
        found = [" ".join(p.split()) for name in sorted(topics) for p in topics[name].split("\n\n")]
    return [text for text in found if text.strip()][:SENTENCES]


def measure(texts: Sequence[str]) -> dict[str, float]:
    """The best of ROUNDS rounds over the texts; a warm-up over a part of them comes before."""
    torch.set_num_threads(1)
    nlp = ops.english.load()
    list(nlp.pipe(texts[:200]))
    seconds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        trees = [
            (len(doc), [sentence._.parse_string for sentence in doc.sents], doc)
            for doc in nlp.pipe(texts, batch_size=256)
        ]
        seconds.append(time.process_time() - start)
    for _, found, doc in trees:
        words = [token.text for token in doc if not token.is_space]
        read_back = [leaf.word for tree in found for leaf in leaves(read(tree))]
        if words != read_back or not all(token.tag_ for token in doc):
            raise RuntimeError(f"{doc.text!r}: tree over {read_back}, expected one over {words}")
    count = sum(length for length, _, _ in trees)
    return {
        "sentences": len(texts),
        "words": count,
        "cpu_seconds": round(min(seconds), 3),
        "words_per_cpu_second": round(count / min(seconds)),
    }


def main() -> int:
    """Print one line of JSON."""
    # --json is accepted for all benchmarks; the output is JSON anyway.
    files = [argument for argument in sys.argv[1:] if argument != "--json"]
    path = Path(files[0]) if files else None
    print(json.dumps({"bench": "english", **measure(sentences(path))}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
