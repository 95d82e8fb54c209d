import numpy as np

from ops.audit.divisions import NO_PART, Division

# Ten documents of one to four sentences; those of data set 2 are not looked at.
DOCUMENT = np.repeat(np.arange(10), [1, 2, 3, 4, 1, 2, 3, 4, 1, 2])
DATASET = np.array([0, 0, 0, 1, 2, 0, 0, 0, 1, 2], np.int32)[DOCUMENT]
BASELINE = np.arange(len(DOCUMENT))


def division() -> Division:
    return Division.by_dataset(DATASET, ["mail", "news", "few"], ["mail", "news"], [900, 1_100])


def test_each_sentence_is_of_its_data_set_and_others_of_none() -> None:
    own = division()
    assert [(own.parts[p] if p != NO_PART else "few") for p in own.of_row] == [
        ["mail", "news", "few"][d] for d in DATASET
    ]
    assert own.group.tolist() == [0, 0]


def test_permuted_labels_are_those_of_whole_documents_and_as_many() -> None:
    own, inside = division(), DATASET != 2
    seen = set()
    for seed in range(20):
        found = own.permuted(DOCUMENT, BASELINE, seed)
        assert (found.of_row[~inside] == NO_PART).all()
        by_document = {int(d): set(found.of_row[d == DOCUMENT].tolist()) for d in np.unique(DOCUMENT[inside])}
        assert all(len(parts) == 1 for parts in by_document.values())
        assert sorted(part for (part,) in by_document.values()) == [0] * 4 + [1] * 4  # equal numbers
        assert np.isclose(found.sizes.sum(), 2_000)
        assert np.allclose(found.sizes / 2_000, np.bincount(found.of_row[inside]) / inside.sum())
        seen.add(tuple(found.of_row.tolist()))
    assert len(seen) > 10
    same = own.permuted(DOCUMENT, BASELINE, 3)
    assert same.of_row.tolist() == own.permuted(DOCUMENT, BASELINE, 3).of_row.tolist()


def test_halves_share_no_document_and_stay_within_a_data_set() -> None:
    found = division().halves(DOCUMENT, BASELINE, 1)
    assert found.parts == ("mail, half 1", "mail, half 2", "news, half 1", "news, half 2")
    assert found.group.tolist() == [0, 0, 1, 1]
    for document in range(10):
        parts = set(found.of_row[document == DOCUMENT].tolist())
        assert len(parts) == 1
    inside = DATASET != 2
    assert (found.of_row[inside] // 2 == DATASET[inside]).all()
    assert np.allclose(found.sizes.reshape(-1, 2).sum(1), [900, 1_100])
