import numpy as np

from ops.explain.examples import examples as drawn

RNG = np.random.default_rng(0)
N, UNITS = 300, 8
VALUES = RNG.normal(size=(N, UNITS)).astype(np.float32)
IDS = np.sort(RNG.choice(10_000, N, replace=False)).astype(np.int64)


def examples(values: np.ndarray, seed: int, first: int = 0, **given: int) -> dict[str, np.ndarray]:
    """Return the columns of the examples of consecutive units of layer 3."""
    rows = drawn(3, first + np.arange(values.shape[1]), values, IDS, seed, **given)
    assert rows["layer"].unique().to_pylist() == [3]
    assert rows["pole"].null_count == rows["rank"].null_count == rows.num_rows
    return {name: rows[name].to_numpy() for name in ("unit", "quantile", "sent_id", "activation")}


def test_each_tenth_has_its_sentences() -> None:
    rows = examples(VALUES, seed=1)
    assert len(rows["unit"]) == UNITS * 50
    place = np.searchsorted(IDS, rows["sent_id"])
    np.testing.assert_array_equal(rows["activation"], VALUES[place, rows["unit"]])
    rank = VALUES.argsort(0).argsort(0)[place, rows["unit"]]
    np.testing.assert_array_equal(rows["quantile"], rank * 10 // N)
    keys = list(zip(rows["unit"].tolist(), rows["quantile"].tolist(), rows["sent_id"].tolist(), strict=True))
    assert keys == sorted(set(keys))
    _, counts = np.unique(np.stack([rows["unit"], rows["quantile"]]), axis=1, return_counts=True)
    assert (counts == 5).all()
    # Equal activations are drawn from all of the sample.
    values = np.append(np.zeros(N - 1, np.float32), np.float32(1))[:, None]
    equal = examples(values, seed=0, each=10)
    assert len(set(equal["sent_id"].tolist())) == 100
    low = np.searchsorted(IDS, equal["sent_id"][equal["quantile"] == 0])
    assert low.min() < N / 3
    assert low.max() > 2 * N / 3


def test_a_draw_depends_on_the_seed_and_not_on_the_other_units() -> None:
    rows, alone = examples(VALUES, seed=1), examples(VALUES[:, 3:4], seed=1, first=3)
    np.testing.assert_array_equal(rows["sent_id"][rows["unit"] == 3], alone["sent_id"])
    assert (examples(VALUES, seed=2)["sent_id"] != rows["sent_id"]).any()
