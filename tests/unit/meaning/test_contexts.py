from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.errors import InputError
from ops.meaning.counts import (
    ContextCounter,
    Vocabulary,
    add_counts,
    choose,
    count_words,
    read_context_words,
)
from ops.meaning.words import split_words


def count(texts: list[str], window: int, min_count: int, contexts: int | list[str]) -> tuple[Vocabulary, pa.Table]:
    vocabulary = choose(add_counts([count_words(texts, "keep")]), min_count, contexts)
    return vocabulary, ContextCounter(vocabulary, window, "keep").count(texts)


def by_words(vocabulary: Vocabulary, counts: pa.Table) -> dict[tuple[str, str], int]:
    rows, columns = vocabulary.rows, vocabulary.columns
    places = zip(*np.divmod(counts["key"].to_numpy(), len(columns)), counts["total"].to_pylist(), strict=True)
    return {(rows[row], columns[column]): n for row, column, n in places}


def recount(texts: list[str], window: int, rows: set[str], columns: set[str]) -> dict[tuple[str, str], int]:
    found: Counter[tuple[str, str]] = Counter()
    for text in texts:
        words = split_words(text)
        for i, word in enumerate(words):
            for j in range(max(i - window, 0), min(i + window + 1, len(words))):
                if j != i and word in rows and words[j] in columns:
                    found[word, words[j]] += 1
    return dict(found)


SENTENCES = st.lists(st.lists(st.sampled_from("abcdef"), max_size=9).map(" ".join), min_size=1, max_size=8)


@given(SENTENCES, st.integers(1, 10), st.integers(1, 4), st.randoms())
def test_any_split_of_the_sentences_adds_up_to_the_same(
    texts: list[str], window: int, cuts: int, random: object
) -> None:
    texts = [*texts, "a b"]
    vocabulary, whole = count(texts, window, 1, ["a", "b"])
    assert by_words(vocabulary, whole) == recount(texts, window, set("abcdef"), {"a", "b"})
    counter = ContextCounter(vocabulary, window, "keep")
    parts = [counter.count(texts[i::cuts]) for i in range(cuts)]
    random.shuffle(parts)  # type: ignore[attr-defined]
    assert add_counts(parts).equals(whole)
    tables = [count_words(texts[i::cuts], "keep") for i in range(cuts)]
    assert add_counts(tables).equals(add_counts([count_words(texts, "keep")]))


def test_a_word_too_rare_for_a_row_keeps_its_place_and_may_be_a_context() -> None:
    vocabulary, counts = count(["a x b", "a b"], 1, 2, ["x", "b"])
    assert by_words(vocabulary, counts) == {("a", "x"): 1, ("b", "x"): 1, ("a", "b"): 1}
    again = Vocabulary.from_table(pa.table(vocabulary.to_table()))
    assert (again.rows, again.columns) == (vocabulary.rows, vocabulary.columns) == (["a", "b"], ["b", "x"])


def test_a_vocabulary_of_one_word_has_no_pair_across_sentences() -> None:
    vocabulary, counts = count(["a b a", "a"], 2, 3, ["a"])
    assert vocabulary.words == ["a"]
    assert by_words(vocabulary, counts) == {("a", "a"): 2}


def test_the_most_frequent_content_words_are_the_contexts_and_what_cannot_be_counted_is_refused() -> None:
    counts = count_words(["the the The cat dog dog I 7 ox ox ape"], "keep")
    assert choose(counts, 1, 3).columns == ["ape", "dog", "ox"]
    marked = count_words(["पानी माँ पानी e\u0301 क 7"], "keep")
    assert sorted(choose(marked, 1, 3).columns) == sorted(["पानी", "माँ", "e\u0301"])
    cases: list[tuple[str, int | list[str], int, str]] = [
        ("the cat sat", ["zebra", "cat"], 1, "'zebra' never occurs"),
        ("the cat sat", 5, 9, "--min-count 9"),
        ("the of it", 5, 1, "no content word"),
    ]
    for text, contexts, least, named in cases:
        with pytest.raises(InputError, match=named):
            choose(count_words([text], "keep"), least, contexts)


def test_a_file_of_context_words(tmp_path: object) -> None:
    path = f"{tmp_path}/words.txt"
    with open(path, "w") as file:
        file.write("Sweet\n\ngreen \nsweet\n")
    assert read_context_words(path, "keep") == ["Sweet", "green", "sweet"]
    assert read_context_words(path, "lower") == ["sweet", "green"]
    assert read_context_words("12", "keep") == 12
    with open(path, "a") as file:
        file.write("two words\n")
    with pytest.raises(InputError, match="line 5 is not one word: 'two words'"):
        read_context_words(path, "keep")
    for wrong in ("0", "-3", "none.txt", ""):
        with pytest.raises(InputError, match=f"--context-words {wrong}"):
            read_context_words(wrong, "keep")
