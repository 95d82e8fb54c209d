"""A token is assigned to the word with which it shares most of its characters."""

from hypothesis import given
from hypothesis import strategies as st

from ops.sentences.word_spans import words_of_tokens

CUTS = st.lists(st.integers(0, 30), unique=True, min_size=1).map(sorted)
SPANS = st.lists(st.one_of(st.none(), st.tuples(st.integers(0, 30), st.integers(0, 5)).map(lambda s: (s[0], sum(s)))))


def shared(a: tuple[int, int], b: tuple[int, int]) -> int:
    return max(min(a[1], b[1]) - max(a[0], b[0]), 0)


@given(SPANS, CUTS, st.integers(0, 3))
def test_it_is_what_comparing_all_pairs_gives(
    tokens: list[tuple[int, int] | None], cuts: list[int], missing: int
) -> None:
    words: list[tuple[int, int] | None] = list(zip(cuts[::2], cuts[1::2], strict=False))
    words.insert(min(missing, len(words)), None)
    expected = []
    for token in tokens:
        each = [0 if token is None or word is None else shared(token, word) for word in words]
        expected.append(each.index(max(each)) if max(each) else -1)
    assert words_of_tokens(tokens, words).tolist() == expected
