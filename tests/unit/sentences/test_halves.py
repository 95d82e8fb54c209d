import numpy as np
import pyarrow as pa

from ops.sentences.codes import document_codes
from ops.sentences.halves import held_out


def codes(names: list[str], dataset: str = "docs") -> np.ndarray:
    datasets, doc_ids = (pa.chunked_array([own], pa.string()) for own in ([dataset] * len(names), names))
    return np.asarray(document_codes(datasets, doc_ids).to_numpy())


def test_each_document_is_held_out_with_chance_one_half() -> None:
    documents = codes([f"d{i}" for i in range(40_000)])
    halves = [held_out(documents, seed) for seed in range(4)]
    for place, own in enumerate(halves):
        assert 19_600 < own.sum() < 20_400  # four standard deviations
        # What another seed draws, and what documents with the next number have, says nothing about it.
        for other in (*halves[:place], np.roll(own, 1)):
            assert 19_600 < (own == other).sum() < 20_400


def test_a_half_follows_from_seed_data_set_and_document_alone() -> None:
    names = [f"d{i}" for i in range(200)]
    whole = held_out(codes(names), 3)
    order = np.random.default_rng(0).permutation(200)
    assert held_out(codes([names[i] for i in order[:50]]), 3).tolist() == whole[order[:50]].tolist()
    assert held_out(codes(names), 3).tolist() == whole.tolist()
    assert held_out(codes(names, "news"), 3).tolist() != whole.tolist()
    assert held_out(codes(names), 4).tolist() != whole.tolist()
    assert held_out(codes([]), 0).tolist() == []
