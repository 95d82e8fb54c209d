import numpy as np
import pytest

from ops.model.tokenizer import Tokens, mask_tokens

MASK, CLS, SEP = 3, 1, 2
SPARED = frozenset((MASK, CLS, SEP))


def sequence(length: int) -> Tokens:
    return Tokens([CLS, *range(10, 10 + length), SEP], [1, *[0] * length, 1], False)


def masked(length: int, rate: float, sent_id: int = 0, seed: int = 0, at_least_one: bool = False) -> list[int]:
    tokens = mask_tokens(sequence(length), rate, MASK, SPARED, seed, sent_id, at_least_one)
    assert [a for a, b in zip(tokens.ids, sequence(length).ids, strict=True) if a != b] == [MASK] * tokens.ids.count(
        MASK
    )
    assert (tokens.ids[0], tokens.ids[-1]) == (CLS, SEP)
    return [i for i, token in enumerate(tokens.ids) if token == MASK]


@pytest.mark.parametrize("length", [3, 8, 40])
def test_the_share_is_the_rate_on_average_whatever_the_length(length: int) -> None:
    counts = np.array([len(masked(length, 0.12, sent_id)) for sent_id in range(1500)])
    assert counts.mean() / length == pytest.approx(0.12, rel=0.1)
    assert set(counts) <= {int(0.12 * length), int(0.12 * length) + 1}


def test_the_draw_depends_on_seed_and_sentence_alone() -> None:
    first = masked(100, 0.12)
    assert first == masked(100, 0.12)
    assert first != masked(100, 0.12, sent_id=1)
    assert first != masked(100, 0.12, seed=1)


def test_every_place_is_drawn_alike() -> None:
    places = np.concatenate([masked(5, 0.4, sent_id) for sent_id in range(2000)])
    assert np.bincount(places, minlength=7)[1:-1] / len(places) == pytest.approx([0.2] * 5, abs=0.02)


def test_one_at_least_only_where_asked_for() -> None:
    assert all(len(masked(2, 0.01, i, at_least_one=True)) == 1 for i in range(50))
    assert sum(len(masked(2, 0.01, i)) for i in range(50)) < 10


def test_nothing_to_mask_stays_as_it_is() -> None:
    special = Tokens([CLS, SEP, SEP, MASK], [1, 0, 1, 0], False)
    assert mask_tokens(special, 1.0, MASK, SPARED, 0, 0, True) == special
    assert masked(9, 0.0, at_least_one=True) == []
    assert len(masked(9, 1.0)) == 9
