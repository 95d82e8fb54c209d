"""Compares the speed of mining one neuron's sentences with the `prefixspan` package, and prints one line of JSON.

    python -m bench mining

Sentences come from the Parquet files of the folder corpora/ below ATLAS_TEST_DATA if that is set, otherwise from
docstrings. Words, tags and trees come from the shipped English pipeline. Everything runs on one thread. The exit status
is 1 if a count differs or a target is missed.
"""

import argparse
import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np
import spacy

from bench.mined import mine, mine_trees
from bench.texts import draw
from bench.trees import read_forest
from ops.patterns import count_sequences, count_subtrees, prefixspan_package
from ops.patterns.forest import Forest
from ops.patterns.sequence_trie import SequenceTrie
from ops.patterns.sequences import Sequences
from ops.penn import PUNCTUATION_TAGS

T = TypeVar("T")
NEURONS, POLES = 9_216, 2
WORDS_TARGET, TAGS_TARGET, NEURON_TARGET_S = 50, 25, 0.4


def main() -> int:
    """Run the benchmark and print its line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=10_000, help="sentences of the one neuron")
    parser.add_argument("--baseline", type=int, default=50_000, help="sentences that candidates are counted in")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="accepted by all benchmarks; this one always prints JSON")
    options = parser.parse_args()
    texts = draw(options.sentences + options.baseline, options.seed)
    own_words, tags, trees = annotate(texts[: options.sentences])
    tokens = [*own_words, *words_of(texts[options.sentences :])]
    words, others = coded(tokens, options.sentences)
    result = measure(words, coded(tags, len(tags))[0], read_forest(trees)[0], others)
    print(json.dumps({"bench": "mining", **result}))
    return 0 if result["counts_agree"] and result["targets_met"] else 1


def measure(words: Sequences, tags: Sequences, forest: Forest, others: Sequences) -> dict[str, object]:
    """Return every measurement: one execution of the reference, and the median of five for compiled code."""
    result: dict[str, object] = {"sentences": {"word": len(words), "tag": len(tags), "subtree": len(forest)}}
    result["mean_length"] = {"word": round(words.lengths.mean(), 1), "tag": round(tags.lengths.mean(), 1)}
    agree, ratios = [], {}
    for kind, database, max_length in (("word", words, 5), ("tag", tags, 4)):
        floor = -(-len(database) // 100)
        started = time.perf_counter()
        wanted = prefixspan_package.mine(database, floor, max_length)
        slow = time.perf_counter() - started
        fast, (patterns, support) = median(lambda d=database, f=floor, m=max_length: mine(d, f, m))  # type: ignore[misc]
        found = list(zip(map(tuple, patterns.to_lists()), support.tolist(), strict=True))
        agree.append(sorted(found) == sorted(wanted))
        ratios[kind] = slow / fast
        result[f"{kind}_no_gap_limit"] = {
            "patterns": len(patterns),
            "prefixspan_s": round(slow, 3),
            "ours_s": round(fast, 4),
            "ratio": round(slow / fast, 1),
        }
    word_s, (word_patterns, word_support) = median(lambda: mine(words, -(-len(words) // 200), 4, 4))
    tag_s, (tag_patterns, tag_support) = median(lambda: mine(tags, -(-len(tags) // 100), 5, 2))
    tree_s, (found_trees, tree_support) = median(lambda: mine_trees(forest, -(-len(forest) // 100), 5))
    total = word_s + tag_s + tree_s
    result["one_neuron_s"] = {
        "word": round(word_s, 4),
        "tag": round(tag_s, 4),
        "subtree": round(tree_s, 4),
        "all": round(total, 4),
    }
    result["patterns"] = {"word": len(word_patterns), "tag": len(tag_patterns), "subtree": len(found_trees)}
    result["core_hours_for_9216_neurons_2_poles"] = round(total * NEURONS * POLES / 3600, 2)
    word_trie, tag_trie, tree_trie = (
        SequenceTrie.build(word_patterns),
        SequenceTrie.build(tag_patterns),
        count_subtrees.SubtreeTrie.build(found_trees),
    )
    agree.append(np.array_equal(count_sequences.count(words, word_trie, 4), word_support))
    agree.append(np.array_equal(count_sequences.count(tags, tag_trie, 2), tag_support))
    agree.append(np.array_equal(count_subtrees.count(forest, tree_trie), tree_support))
    others_s = median(lambda: count_sequences.count(others, word_trie, 4))[0]
    tags_s = median(lambda: count_sequences.count(tags, tag_trie, 2))[0]
    trees_s = median(lambda: count_subtrees.count(forest, tree_trie))[0]
    result["count_s_per_million_sentences"] = {
        "word": round(others_s / len(others) * 1e6, 2),
        "tag": round(tags_s / len(tags) * 1e6, 2),
        "subtree": round(trees_s / len(forest) * 1e6, 2),
    }
    result["counts_agree"] = all(agree)
    result["targets_met"] = ratios["word"] >= WORDS_TARGET and ratios["tag"] >= TAGS_TARGET and total < NEURON_TARGET_S
    return result


def median(work: Callable[[], T], times: int = 5) -> tuple[float, T]:
    """Return the median seconds of several executions, after a first one that compiles, and the result."""
    result = work()
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds), result


def words_of(texts: Iterable[str]) -> list[list[str]]:
    """Return each text's words by spaCy's English rules, without punctuation."""
    docs = spacy.blank("en").pipe(texts)
    return [[token.text for token in doc if not (token.is_punct or token.is_space)] for doc in docs]


def annotate(texts: Iterable[str]) -> tuple[list[list[str]], list[list[str]], list[str]]:
    """Return each text's words and tags without punctuation, and its tree, by the shipped pipeline."""
    english = importlib.import_module("ops.english")
    words, tags, trees = [], [], []
    for doc in english.load().pipe(texts):
        kept = [token for token in doc if not token.is_space and token.tag_ not in PUNCTUATION_TAGS]
        words.append([token.text for token in kept])
        tags.append([token.tag_ for token in kept])
        parts = [sentence._.parse_string.removeprefix("(ROOT").removesuffix(")") for sentence in doc.sents]
        trees.append(f"(ROOT{''.join(parts)})" if any(parts) else "")
    return words, tags, trees


def coded(tokens: list[list[str]], count: int) -> tuple[Sequences, Sequences]:
    """Return the first `count` lists, and all other lists, as codes of one vocabulary."""
    codes: dict[str, int] = {}
    rows = [[codes.setdefault(token, len(codes)) for token in row] for row in tokens]
    return Sequences.from_lists(rows[:count]), Sequences.from_lists(rows[count:])


if __name__ == "__main__":
    sys.exit(main())
