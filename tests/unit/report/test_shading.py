"""A shaded sentence keeps its text, and each token's value is shown at the token."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ops.report.shading import shade

SENTENCES = st.text(min_size=1, max_size=30).flatmap(
    lambda text: st.tuples(
        st.just(text),
        st.lists(
            st.tuples(st.integers(0, len(text)), st.integers(0, len(text)), st.floats(-3, 3)).map(
                lambda t: (min(t[:2]), max(t[:2]), t[2])
            ),
            max_size=8,
        ),
        st.one_of(st.none(), st.tuples(st.integers(0, len(text) - 1), st.integers(1, 5)).map(lambda p: (p[0], sum(p)))),
    )
)


@given(SENTENCES)
def test_any_spans_give_the_whole_text_and_the_strongest_value(
    made: tuple[str, list[tuple[int, int, float]], tuple[int, int] | None],
) -> None:
    text, tokens, peak = made
    peak = peak and (peak[0], min(peak[1], len(text)))
    columns = [list(c) for c in zip(*tokens, strict=True)] or [[], [], []]
    row: dict[str, Any] = {
        "starts": [None, *columns[0]],
        "ends": [None, *columns[1]],
        "activations": [9.0, *columns[2]],
    }
    pieces = shade(text, row, peak)
    assert "".join(piece.text for piece in pieces) == text
    values = [piece.value for piece in pieces for _ in piece.text]
    peaks = [piece.peak for piece in pieces for _ in piece.text]
    for i, character in enumerate(text):
        own = [v for start, end, v in tokens if start <= i < end and not text[start : i + 1].isspace()]
        expected = max(own, key=abs, default=None)
        assert (values[i] is None) == (expected is None), character
        assert expected is None or abs(values[i] or 0.0) == abs(expected)
        assert peaks[i] == (peak is not None and peak[0] <= i < peak[1])


def test_without_tokens_the_sentence_stays_whole() -> None:
    assert shade("a b", None, None) == [("a b", None, False)]
