"""A winner as one line: where it is cut, and what is marked in it."""

import pytest

from ops.show.winner_lines import marked, winner_line


@pytest.mark.parametrize("width", [20, 40, 60, 90])
@pytest.mark.parametrize("at", [0, 97, 191])
def test_a_cut_keeps_to_the_width_and_shows_the_peak(at: int, width: int) -> None:
    text = "snow " * 40
    text = text[:at] + "falls" + text[at + 5 :]
    line = marked(text.strip(), (at, at + 5), [(5, 9), (100, 104)], width)
    assert len(line) <= width
    assert "[falls]" in line
    assert line.startswith("...") == (at > width)


def test_without_a_peak_a_cut_is_around_the_first_match_and_one_at_the_peak_is_marked_once() -> None:
    assert "*rain*" in marked("x " * 100 + "rain" + " x" * 100, None, [(200, 204)], 40)
    assert marked("more snow", (5, 9), [(0, 9)], 40) == "more [snow]"


def test_data_sets_are_in_a_column() -> None:
    winner = {"rank": 1, "activation": 0.5, "text": "a b", "dataset": "news", "peak": {"span": (2, 3)}}
    line = winner_line(winner, 10, 60)
    assert line.startswith("  1   0.5000  a [b] ")
    assert line.index("news") == 50
