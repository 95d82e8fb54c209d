import numpy as np
import pytest

from ops.errors import InputError
from ops.meaning.hashing import Drawn, HashedStates, labelled, methods_and_sizes

N, WIDTH = 300, 6


def hashed(tested: np.ndarray | None = None) -> HashedStates:
    rng = np.random.default_rng(0)
    number = np.arange(N) % 2
    states = (rng.normal(size=(N, WIDTH)) + 3 * number[:, None]).astype(np.float32)
    states[7] = np.nan
    held_out = np.arange(N) % 5 == 0 if tested is None else tested
    drawn = Drawn(np.arange(N), np.arange(N), held_out, [labelled("topic", [f"t{i}" for i in number])])
    return HashedStates(drawn, states, 0)


def test_codes_are_measured_on_held_out_sentences() -> None:
    own = hashed()
    assert len(own.states) == N - 1
    ways = methods_and_sizes(WIDTH)
    assert ways == [("autoencoder", 2), ("pca", 2), ("autoencoder", 4), ("pca", 4), ("states", 6)]
    for method, size in ways:
        codes = own.codes(method, size, 2)
        rows = own.rows(codes, method, size, 5).to_pylist()
        assert {(row["label"], row["size"], row["n"]) for row in rows} == {("topic", size, N // 5)}
        if method != "states":
            assert {row["code"] for row in rows} == {"real", "bits"}
    found = {row["method"]: row for row in rows}
    assert found["states"]["precision"] > 0.9
    assert found["states"]["error"] == 0
    assert found["shuffled"]["precision"] < 0.7
    assert found["shuffled"]["error"] is None
    plane = own.plane(own.codes("pca", 2, 1), "pca")
    assert plane["sent_id"].to_pylist() == list(range(0, N, 5))
    assert set(plane["method"].to_pylist()) == {"pca"}
    for held_out in (False, True):
        with pytest.raises(InputError, match="--hashed-sentences: too few documents"):
            hashed(np.full(N, held_out)).codes("pca", 2, 1)
