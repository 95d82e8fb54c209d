import numpy as np
from datasketch import MinHash
from hypothesis import given
from hypothesis import strategies as st

from ops.corpus.minhash import SHINGLE, MinHasher, band_hashes, banding, fold, short_signatures
from ops.corpus.near_duplicates import similarity

TEXT = st.text(alphabet="ab cdÉé!?_ 1がि☃ß", max_size=30) | st.text(max_size=12)
WORDS = st.sampled_from(["the", "a", "river", "window", "garden", "music", "paper", "yellow", "slowly", "turned", "in"])
SENTENCES = st.lists(WORDS, min_size=1, max_size=25).map(" ".join)


def shingles(text: str) -> set[str]:
    whole = fold(text)
    wide = min(SHINGLE, len(whole)) if any(c.isalnum() for c in whole) else len(whole)
    return {whole[i : i + wide] for i in range(len(whole) - wide + 1)} if whole else set()


def jaccard(one: str, other: str) -> float:
    return len(shingles(one) & shingles(other)) / len(shingles(one) | shingles(other))


def shingle_hash(shingle: str) -> int:
    x = 0
    for c in shingle:
        x = (x ^ ord(c)) * 0x9E3779B97F4A7C15 % 2**64
        x ^= x >> 29
    return x >> 32


def test_what_a_text_folds_to() -> None:
    known = {
        "Hello,  WORLD_wide!": "hello world wide",
        "  it's 3.5 %": "it s 3 5",
        "Straße": "strasse",
        "हिन्दी की!": "हिन्दी की",
        "love \u2764\ufe0f it": "love it",
        "?!": "?!",
        "a": "a",
        "": "",
    }
    assert {text: fold(text) for text in known} == known


@given(st.lists(TEXT, max_size=6), st.integers(0, 3))
def test_signatures_are_those_of_datasketch(texts: list[str], seed: int) -> None:
    signer = MinHasher(seed)
    found = signer(texts)
    assert found.shape == (len(texts), 128)
    for text, signature in zip(texts, found, strict=True):
        own = MinHash(hashfunc=int, permutations=signer.permutations, scheme="affine32")
        own.update_batch(map(shingle_hash, shingles(text)))
        assert signature.tolist() == own.hashvalues.tolist()


def test_short_texts_and_symbols_are_like_nothing_but_themselves() -> None:
    texts = ["a", "b", "ab", "a b", "!", "!!", "!!!!!!!", "!!!!!!!!", "?!?!?!?!", "☃☃☃☃☃☃", "☃☃☃☃☃☃☃", "abcde", "abcd"]
    signed = short_signatures(MinHasher(0)(texts))
    for i, one in enumerate(signed):
        for j, other in enumerate(signed):
            found = similarity(one[None], other[None])[0]
            assert (found == 1) if i == j else (found < 0.1), (texts[i], texts[j])


def test_the_estimate_is_near_the_similarity_whatever_the_seed() -> None:
    rng = np.random.default_rng(0)
    words = [f"{a}{b}" for a in ("stone", "river", "cloud", "green") for b in ("ly", "ish", "bank", "s", "")]
    pairs = []
    for _ in range(300):
        one = [words[i] for i in rng.integers(0, len(words), 15)]
        other = [w if rng.random() > 0.15 else words[int(rng.integers(0, len(words)))] for w in one]
        pairs.append((" ".join(one), " ".join(other)))
    exact = np.array([jaccard(*pair) for pair in pairs])
    assert exact.min() < 0.5
    assert np.median(exact) > 0.6
    for seed in range(3):
        one, other = (short_signatures(MinHasher(seed)([pair[i] for pair in pairs])) for i in (0, 1))
        error = similarity(one, other) - exact
        assert abs(error.mean()) < 0.01
        assert error.std() < 0.05  # sqrt(0.25 / 128) = 0.044 at most, and the 8 bits' share
        assert np.abs(error).max() < 0.2
    assert (MinHasher(0)(["a stone"]) != MinHasher(1)(["a stone"])).any()


def test_bands_fit_and_miss_few() -> None:
    for threshold in (0.05, 0.3, 0.5, 0.7, 0.8, 0.9, 0.96, 1.0):
        bands, rows = banding(threshold)
        assert bands >= 2
        assert bands * rows <= 128
        assert 1 - (1 - threshold**rows) ** bands > 0.95


def test_a_band_s_hash_tells_its_rows_and_its_number() -> None:
    signatures = np.random.default_rng(0).integers(0, 2**32, (500, 128), dtype=np.uint32)
    signatures[1] = signatures[0]
    signatures[2] = signatures[0]
    signatures[2, 4] += np.uint32(1)  # in the second band
    signatures[3, :9] = 7
    found = band_hashes(signatures, 10, 3)
    assert found.shape == (500, 10)
    assert (found[1] == found[0]).all()
    assert np.flatnonzero(found[2] != found[0]).tolist() == [1]
    assert len(set(found[3, :3].tolist())) == 3
    assert len(np.unique(found)) == 499 * 10 - 9
