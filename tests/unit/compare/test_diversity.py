import numpy as np
import pytest
from sklearn.cluster import KMeans

from ops.compare.diversity import curve_rows, squared_error
from ops.compare.figures import diversity_figure

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(200, 6)).astype(np.float32)
TIMES = RNG.integers(1, 5, 200)


def test_repeated_points_count_as_often_as_they_occur() -> None:
    repeated = np.repeat(POINTS.astype(np.float64), TIMES, 0)
    assert squared_error(POINTS, TIMES, 1, 0) == pytest.approx(((repeated - repeated.mean(0)) ** 2).sum(), rel=1e-5)
    found = squared_error(POINTS, TIMES, 8, 0)
    best = min(KMeans(8, n_init=10, random_state=i).fit(repeated).inertia_ for i in range(3))
    assert found == pytest.approx(best, rel=0.04)
    assert found >= best * 0.999


def test_planted_clusters_leave_their_own_spread_alone() -> None:
    centres = 50 * RNG.normal(size=(5, 6))
    truth = np.repeat(np.arange(5), 40)
    points = centres[truth] + RNG.normal(size=(200, 6))
    spread = sum(((points[truth == i] - points[truth == i].mean(0)) ** 2).sum() for i in range(5))
    assert squared_error(points, np.ones(200, np.int64), 5, 0) == pytest.approx(spread, rel=1e-5)


def test_of_many_points_some_at_a_time_come_close(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = squared_error(POINTS, TIMES, 8, 0)
    monkeypatch.setattr("ops.compare.diversity.MOST_AT_ONCE", 10)
    assert squared_error(POINTS, TIMES, 8, 0) == pytest.approx(exact, rel=0.1)


def test_rows_of_winners_that_are_more_alike_than_uniform_sentences() -> None:
    table = curve_rows(3, POINTS / 2, POINTS, TIMES, (20, 1, 5, 1, 500), 7)
    rows = table.to_pylist()
    assert [(row["layer"], row["clusters"], row["seed"]) for row in rows] == [(3, 1, 7), (3, 5, 7), (3, 20, 7)]
    assert all(row["n"] == TIMES.sum() and row["n_distinct"] == 200 for row in rows)
    assert rows[0]["sse"] == pytest.approx(rows[0]["sse_of_uniform"] / 4, rel=1e-5)
    assert [row["sse_per_point"] for row in rows] == pytest.approx([row["sse"] / TIMES.sum() for row in rows])
    assert rows[0]["sse"] > rows[1]["sse"] > rows[2]["sse"]


def test_winners_fewer_than_any_number_of_clusters_have_no_rows_and_an_empty_figure() -> None:
    table = curve_rows(1, POINTS[:5], POINTS[5:10], TIMES[:5], (6, 500), 0)
    assert table.num_rows == 0
    assert not diversity_figure(table).axes[0].lines
    assert curve_rows(1, POINTS[:1], POINTS[5:6], TIMES[:1], (1, 500), 0)["sse"].to_pylist() == [0]
