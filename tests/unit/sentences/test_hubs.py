import pytest

from ops.sentences.hubs import most_wins


def test_a_hub_wins_far_more_than_by_chance() -> None:
    assert most_wins(100, 20_000, 4_608) == pytest.approx(0.05 * 4_608)
    assert most_wins(10, 20_000, 4_608) == pytest.approx(0.02 * 4_608)
    assert most_wins(10, 0, 4_608) > 4_608
