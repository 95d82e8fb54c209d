import numpy as np
import pytest

from ops.meaning.sentence_tasks import ALL, BANDS, band_of, mask, masked_rows
from ops.model.tokenizer import Tokens
from ops.statistics.by_document import share_by_document

MASK = 103


def test_a_share_of_the_tokens_is_masked_and_what_stood_there_is_kept() -> None:
    tokens = Tokens([101, *range(1_000, 1_040), 102], [1, *[0] * 40, 1], False)
    masked = [mask(tokens, 0.15, MASK, frozenset({1_005}), 0, number) for number in range(200)]
    places = [m.places for m in masked if m is not None]
    assert np.mean([len(p) for p in places]) == pytest.approx(0.15 * 39, rel=0.05)
    for found in masked:
        assert found is not None
        assert 6 not in found.places  # the spared token
        assert not {0, 41} & set(found.places)
        assert [tokens.ids[i] for i in found.places] == found.truth
        assert [found.tokens.ids[i] for i in found.places] == [MASK] * len(found.places)
    assert mask(Tokens([101, 102], [1, 1], False), 0.15, MASK, frozenset(), 0, 0) is None


def test_bands_are_by_occurrences_in_a_million() -> None:
    count = np.array([0, 9, 10, 99, 1_000, 50_000])
    assert [BANDS[b][1] for b in band_of(count, 1_000_000)] == [
        "under 10", "under 10", "10 to 100", "10 to 100", "1,000 to 10,000", "over 10,000",
    ]  # fmt: skip


def test_rows_add_up_by_tag_and_by_band() -> None:
    rng = np.random.default_rng(0)
    ranks, probability = rng.integers(1, 40, 300), rng.random(300).astype(np.float32)
    tags, bands = rng.choice(["NN", "DT", "VB"], 300).tolist(), rng.integers(0, 3, 300)
    documents = rng.integers(0, 40, 300)
    rows = masked_rows(ranks, probability, tags, bands, documents)
    assert rows == sorted(rows, key=lambda r: (r["property"], r["value"]))
    whole = next(r for r in rows if r["property"] == ALL)
    assert whole["rank_median"] == np.median(ranks)
    assert whole["reciprocal_rank"] == pytest.approx((1 / ranks).mean())
    for group in ("tag", "frequency"):
        own = [r for r in rows if r["property"] == group]
        assert sum(r["n"] for r in own) == 300
        for column in ("first", "within_10", "probability"):
            assert sum(r["n"] * r[column] for r in own) / 300 == pytest.approx(whole[column], abs=1e-6)
    assert all(r["first_low"] <= r["first"] <= r["first_high"] for r in rows)
    nouns = np.array(tags) == "NN"
    row = next(r for r in rows if r["value"] == "NN")
    expected = share_by_document(ranks[nouns] == 1, documents[nouns])
    assert (row["first"], row["first_low"], row["first_high"]) == expected
    (alone, *_) = masked_rows(ranks, probability, tags, bands, np.zeros(300, np.int64))
    assert (alone["value"], alone["first_low"]) == (ALL, None), "one document does not show how documents differ"
    assert masked_rows(ranks[:0], probability[:0], [], bands[:0], documents[:0]) == []
