import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ops.reducers.keys import EMPTY, MAX_IDS, decode, encode

FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)
PAIRS = st.lists(st.tuples(FINITE, st.integers(0, MAX_IDS - 1)), min_size=1, max_size=30)


def keys_of(pairs: list[tuple[float, int]]) -> torch.Tensor:
    values, ids = zip(*pairs, strict=True)
    return encode(torch.tensor(values, dtype=torch.float32), torch.tensor(ids))


@given(PAIRS)
@settings(deadline=None)
def test_descending_keys_are_activation_then_lower_id(pairs: list[tuple[float, int]]) -> None:
    by_key = sorted(zip(keys_of(pairs).tolist(), pairs, strict=True), key=lambda p: -p[0])
    assert [p for _, p in by_key] == sorted(pairs, key=lambda p: (-p[0], p[1]))


@given(PAIRS)
@settings(deadline=None)
def test_keys_give_back_what_they_were_made_of(pairs: list[tuple[float, int]]) -> None:
    values, ids = decode(keys_of(pairs))
    assert list(zip(values.tolist(), ids.tolist(), strict=True)) == pairs
    assert values.dtype == torch.float32


def test_zeros_of_both_signs_are_one_value() -> None:
    keys = encode(torch.tensor([-0.0, 0.0]), torch.tensor([7, 7]))
    assert keys[0] == keys[1]
    assert not torch.signbit(decode(keys)[0]).any()


def test_every_key_lies_above_empty() -> None:
    lowest = torch.finfo(torch.float32).min
    assert int(encode(torch.tensor([lowest]), torch.tensor([MAX_IDS - 1]))[0]) > EMPTY


def test_ids_broadcast() -> None:
    keys = encode(torch.zeros(2, 3), torch.tensor([[4], [5]]))
    assert decode(keys)[1].tolist() == [[4, 4, 4], [5, 5, 5]]
