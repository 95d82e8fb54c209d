from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score

from ops.contrast.groups import Contrast
from ops.contrast.probes import (
    KS,
    Scores,
    fitted_scores,
    folds_of,
    layer_probe,
    rotated_probes,
    training_areas,
    unit_probes,
    word_probe,
)
from ops.sampling import random_rotation
from tests.unit.contrast.small import contrast

WIDTH = 12


def planted(n: int = 600, width: int = WIDTH) -> tuple[Contrast, np.ndarray]:
    """Unit 3 follows the groups most, and unit 7 less."""
    one = contrast(n, documents=120)
    values = np.random.default_rng(6).normal(size=(n, width)).astype(np.float32)
    values[:, 3] += 1.2 * one.is_a
    values[:, 7] -= 0.8 * one.is_a
    return one, values


def area(one: Contrast, scores: np.ndarray) -> float:
    known = ~np.isnan(scores)
    return float(roc_auc_score(one.is_a[known], scores[known]))


@given(st.integers(0, 10_000))
def test_training_areas_are_scikit_learns_with_ties(seed: int) -> None:
    random = np.random.default_rng(seed)
    values = random.integers(-2, 3, (30, 4)).astype(np.float32)
    is_a = np.append([True, False], random.random(28) < 0.5)
    expected = [roc_auc_score(is_a, values[:, unit]) for unit in range(4)]
    assert training_areas(values, is_a) == pytest.approx(expected)
    assert training_areas(csr_array(values), is_a) == pytest.approx(expected)


def test_folds_divide_documents_and_inner_halves_divide_training_documents() -> None:
    one, _ = planted()
    seen = []
    for fold in folds_of(one):
        seen += fold.test.tolist()
        assert not set(one.documents[fold.train]) & set(one.documents[fold.test])
        (first, second), back = fold.halves
        assert [half.tolist() for half in back] == [second.tolist(), first.tolist()]
        own = one.documents[fold.train]
        assert not set(own[first]) & set(own[second])
        assert sorted([*first, *second]) == list(range(len(fold.train)))
    assert sorted(seen) == list(range(600))


def test_a_fold_is_left_out_if_its_area_cannot_be_measured() -> None:
    one, values = planted()
    alone = np.flatnonzero((one.folds // 2 == 3) & one.is_a)[0]
    is_a = one.is_a & ((one.folds // 2 != 3) | (one.documents == one.documents[alone]))
    few = replace(one, is_a=is_a)
    left_out = one.folds // 2 == 3
    assert len(list(folds_of(few))) == 4
    for probe in (unit_probes(few, values), layer_probe(few, values), word_probe(few, ["a cat"] * 600)):
        assert np.array_equal(np.isnan(probe.held_out).all(1), left_out)


def test_one_unit_scores_like_the_planted_one() -> None:
    one, values = planted()
    found = unit_probes(one, values)
    assert found.held_out.shape == (600, len([k for k in KS if k <= WIDTH]))
    for fold in folds_of(one):
        assert np.corrcoef(found.held_out[fold.test, 0], values[fold.test, 3])[0, 1] == pytest.approx(1)
    assert area(one, found.held_out[:, 1]) > area(one, found.held_out[:, 0]) > 0.75
    assert found.inner.shape == (5, 4)
    assert (found.inner[:, 1] > 0.75).all()


def test_test_labels_are_never_seen() -> None:
    one, values = planted()
    fold = next(folds_of(one))
    flipped = one.is_a.copy()
    flipped[fold.test] = ~flipped[fold.test]
    other = replace(one, is_a=flipped)
    for probe in (unit_probes, layer_probe):
        a, b = probe(one, values).held_out, probe(other, values).held_out
        assert np.array_equal(a[fold.test], b[fold.test])


def test_pure_chance_scores_one_half() -> None:
    one, _ = planted(2_000)
    values = np.random.default_rng(1).normal(size=(2_000, 40)).astype(np.float32)
    assert area(one, unit_probes(one, values).held_out[:, 0]) == pytest.approx(0.5, abs=0.05)


def test_all_units_and_all_rotated_axes_score_alike_with_the_same_penalty() -> None:
    one, values = planted()
    fold = next(folds_of(one))
    train = values[fold.train].astype(np.float64)
    scaled = (values - train.mean(0)) / train.std(0)
    axes = random_rotation(WIDTH, np.random.default_rng(0))
    for penalties in ((0.01,), (1.0,)):
        args = (one.is_a[fold.train], scaled[fold.test], penalties)
        units = fitted_scores(scaled[fold.train], *args)
        turned = fitted_scores(scaled[fold.train] @ axes, args[0], scaled[fold.test] @ axes, penalties)
        assert turned == pytest.approx(units, abs=1e-6)


@pytest.mark.slow
def test_a_rotation_spreads_what_one_unit_knows() -> None:
    one, values = planted(800, 32)
    rotated = rotated_probes(one, values, 0, 1)
    assert rotated.held_out.shape == (10, 800, len(KS))
    assert rotated.inner.shape == (10, 5, len(KS))
    assert len({tuple(own[:5, 0].tolist()) for own in rotated.held_out}) == 10
    unit = area(one, unit_probes(one, values).held_out[:, 0])
    assert unit > np.mean([area(one, own[:, 0]) for own in rotated.held_out]) + 0.1
    assert area(one, rotated.held_out[0, :, -1]) == pytest.approx(
        area(one, layer_probe(one, values).held_out[:, 0]), abs=0.01
    )


def test_words_length_and_data_set_are_known_to_the_probe_of_words() -> None:
    one = contrast(1_200, documents=300)
    random = np.random.default_rng(2)
    plain = [f"the cat saw w{random.integers(900)}" for _ in range(1_200)]
    said = [f"{text} lovely" if a else text for text, a in zip(plain, one.is_a, strict=True)]
    assert area(one, word_probe(one, said).held_out[:, 0]) == 1
    longer = replace(one, lengths=np.where(one.is_a, 30, 10))
    assert area(longer, word_probe(longer, plain).held_out[:, 0]) > 0.95
    sets = replace(one, datasets=one.is_a.astype(np.int32))
    assert area(sets, word_probe(sets, plain).held_out[:, 0]) > 0.95
    assert area(one, word_probe(one, plain).held_out[:, 0]) == pytest.approx(0.5, abs=0.06)


def test_sparse_values_are_probed_too() -> None:
    one, values = planted()
    active = np.where(values > 0.5, values, 0).astype(np.float32)
    dense, sparse = unit_probes(one, active), unit_probes(one, csr_array(active))
    for fold in folds_of(one):
        own = [roc_auc_score(one.is_a[fold.test], scores.held_out[fold.test, 0]) for scores in (dense, sparse)]
        assert own[0] == pytest.approx(own[1], abs=1e-9)
    assert area(one, layer_probe(one, csr_array(active)).held_out[:, 0]) > 0.7


def test_a_fold_whose_training_documents_lack_a_group_has_no_scores() -> None:
    one, values = planted()
    is_a = one.folds // 2 == 2
    found = unit_probes(replace(one, is_a=is_a), values)
    assert isinstance(found, Scores)
    assert np.isnan(found.held_out[is_a]).all()
