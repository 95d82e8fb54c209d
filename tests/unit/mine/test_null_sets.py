import numpy as np
import pytest

from ops.mine.null_sets import document_set, effect_of_documents, uniform_set

SIZES = np.random.default_rng(1).geometric(0.2, 400)
DOCUMENTS = np.repeat(np.arange(400), SIZES)


def documents_of(rows: np.ndarray) -> int:
    return len(np.unique(DOCUMENTS[rows]))


def test_every_set_has_its_size_ascending_and_each_sentence_once() -> None:
    random = np.random.default_rng(2)
    n = len(DOCUMENTS)
    for rows in (uniform_set(n, 60, random), document_set(DOCUMENTS, 60, 0.7, random)):
        assert len(rows) == 60
        assert (np.diff(rows) > 0).all()
    for rows in (uniform_set(5, 9, random), document_set(np.zeros(5, np.int64), 9, 1.0, random)):
        assert rows.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("effect", [0.0, 4.0])
def test_every_sentence_has_the_same_chance(effect: float) -> None:
    random = np.random.default_rng(3)
    drawn = np.zeros(len(DOCUMENTS))
    for _ in range(600):
        drawn[document_set(DOCUMENTS, 200, effect, random)] += 1
    share = 200 / len(DOCUMENTS)
    of_large = drawn[SIZES[DOCUMENTS] >= 8].mean() / 600
    assert of_large == pytest.approx(share, rel=0.12)


def test_the_effect_gives_as_many_documents_as_wanted() -> None:
    random = np.random.default_rng(4)
    effect = effect_of_documents(DOCUMENTS, 80, 30, random)
    found = np.mean([documents_of(document_set(DOCUMENTS, 80, effect, random)) for _ in range(50)])
    assert found == pytest.approx(30, rel=0.1)
    # A uniform set has fewer documents than this.
    assert effect_of_documents(DOCUMENTS, 80, 80, np.random.default_rng(5)) == 0


def test_the_same_seed_draws_the_same_sets() -> None:
    first, second = (document_set(DOCUMENTS, 50, 1.0, np.random.default_rng([7, 1])) for _ in range(2))
    assert np.array_equal(first, second)
