import numpy as np
import pyarrow as pa

from ops.sampling import DOCUMENT_FOLDS, priorities
from ops.sentences.codes import document_codes
from ops.sentences.folds import FOLDS, HALF, folds


def codes(names: list[str], dataset: str = "docs") -> np.ndarray:
    datasets, doc_ids = (pa.chunked_array([own], pa.string()) for own in ([dataset] * len(names), names))
    return np.asarray(document_codes(datasets, doc_ids).to_numpy())


def test_each_document_is_in_each_fold_with_chance_one_tenth() -> None:
    documents = codes([f"d{i}" for i in range(40_000)])
    drawn = [folds(documents, seed) for seed in range(4)]
    for seed, fold in enumerate(drawn):
        sizes = np.bincount(fold, minlength=FOLDS)
        assert len(sizes) == FOLDS
        assert (np.abs(sizes - 4_000) < 240).all()  # four standard deviations
        # What another seed draws, and what documents with the next number have, says nothing about it.
        for other in (*drawn[:seed], np.roll(fold, 1)):
            assert abs((fold == other).sum() - 4_000) < 240


def test_a_fold_is_ten_times_the_priority_as_a_share_of_all_and_the_upper_five_are_the_upper_half() -> None:
    documents = codes([f"d{i}" for i in range(5_000)])
    priority = priorities(documents.view(np.uint64), 3, DOCUMENT_FOLDS)
    fold = folds(documents, 3)
    assert fold.tolist() == [int(p) * FOLDS >> 64 for p in priority]
    assert np.array_equal(fold >= HALF, priority >= np.uint64(1 << 63))


def test_a_fold_follows_from_seed_data_set_and_document_alone() -> None:
    names = [f"d{i}" for i in range(200)]
    whole = folds(codes(names), 3)
    order = np.random.default_rng(0).permutation(200)
    assert folds(codes([names[i] for i in order[:50]]), 3).tolist() == whole[order[:50]].tolist()
    assert folds(codes(names), 3).tolist() == whole.tolist()
    assert folds(codes(names, "news"), 3).tolist() != whole.tolist()
    assert folds(codes(names), 4).tolist() != whole.tolist()
    assert folds(codes([]), 0).tolist() == []
