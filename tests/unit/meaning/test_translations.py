import numpy as np
import pytest

from ops.meaning.sentence_tasks import partners, reciprocal_ranks, translation_rows

RNG = np.random.default_rng(0)


def test_reciprocal_ranks_equal_sorting() -> None:
    states, others = (RNG.normal(size=(40, 6)).astype(np.float32) for _ in range(2))
    found = reciprocal_ranks(states, others)
    for i in range(40):
        near = [float(states[i] @ o / np.linalg.norm(o)) for o in others]
        assert found[i] == pytest.approx(1 / (1 + sum(s > near[i] for s in near)))
    assert reciprocal_ranks(np.ones((3, 2), np.float32), np.ones((3, 2), np.float32)).tolist() == [0.5] * 3


def test_partners_share_a_key() -> None:
    keys = [*(f"k{i}" for i in range(12)), *(f"k{i}" for i in range(11, -1, -1)), "k0", "lonely"]
    languages = ["en"] * 12 + ["de"] * 12 + ["de", "fr"]
    found = partners(keys, languages)
    assert set(found) == {("de", "en"), ("en", "de")}
    one, other = found["en", "de"].T
    assert len(one) == 12
    assert all(keys[a] == keys[b] and languages[b] == "de" for a, b in zip(one, other, strict=True))
    assert partners(keys[:20], languages[:20]) == {}


def test_planted_translations_are_found_by_the_layer_that_has_them_and_shuffled_ones_are_at_chance() -> None:
    n = 300
    meant = RNG.normal(size=(n, 16))
    keys = [f"k{i}" for i in range(n)] * 2
    languages = ["en"] * n + ["de"] * n

    noise = RNG.normal(size=(2 * n, 2, 16)) * np.array([100, 0.2])[:, None]
    states = (np.vstack([meant, meant])[:, None] + noise).astype(np.float32)
    documents = [f"{language}{i % n // 5}" for i, language in enumerate(languages)]
    rows = {(r["space"], r["language"]): r for r in translation_rows(states, keys, languages, documents, 0)}
    assert rows["layer:2", "en"]["reciprocal_rank"] > 0.95
    chance = sum(1 / r for r in range(1, n + 1)) / n
    for own in (rows["layer:1", "en"], rows["shuffled", "en"], rows["shuffled", "de"]):
        assert own["chance"] == pytest.approx(chance)
        assert own["low"] < chance < own["high"]
    books = ["en"] * n + [f"de{i // 5}" for i in range(n)]
    assert {r["low"] for r in translation_rows(states, keys, languages, books, 0)} == {None}, "all from one document"
