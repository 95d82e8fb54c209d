"""MinHash signatures of texts, which find near-duplicates without comparing every pair of texts."""

import re
import unicodedata
from functools import cache

import numpy as np
from datasketch import MinHash, MinHashLSH

from ops.arrays import Int64s, UInt8s, UInt32s, UInt64s
from ops.compiled import compiled
from ops.hashing import mix
from ops.sampling import NEAR

PERMUTATIONS = 128
SHINGLE = 5  # characters
_WEIGHTS = (0.02, 0.98)  # weights of needlessly compared pairs, which only cost time, and of missed pairs
_STRICTEST = 0.95  # above it datasketch may find fewer than two bands; the bands for 0.95 also find more similar texts


def banding(threshold: float) -> tuple[int, int]:
    """Return the number of bands, and of permutations in each band, that find pairs of this Jaccard similarity.

    Few pairs are missed: 2 in 100 of the pairs with a similarity of exactly 0.8 (Leskovec, Rajaraman, Ullman, Mining of
    Massive Datasets, section 3.4). datasketch searches for the weighted optimum.
    """
    index = MinHashLSH(threshold=min(threshold, _STRICTEST), num_perm=PERMUTATIONS, weights=_WEIGHTS)
    return index.b, index.r


def band_hashes(signatures: UInt32s, bands: int, rows: int) -> UInt64s:
    """Return a hash of each band of each signature, which includes the band's index, `[texts, bands]` uint64."""
    hashes = np.empty((len(signatures), bands), np.uint64)
    for band in range(bands):
        whole = np.full(len(signatures), band + 1, np.uint64)
        for column in range(band * rows, (band + 1) * rows):
            whole = mix((whole << np.uint64(1)) ^ signatures[:, column])
        hashes[:, band] = whole
    return hashes


def short_signatures(signatures: UInt32s) -> UInt8s:
    """Return signatures shortened to 8 bits a number, `[texts, 128]` uint8.

    The 8 bits of different numbers are equal in 1 of 256 cases. The numbers' own lowest bits are unsuitable, because
    those of two shingles may be equal under every permutation of the form a h + b.
    """
    return mix(signatures.astype(np.uint64)).astype(np.uint8)


def fold(text: str) -> str:
    """Casefold a text and replace all but letters, their marks and digits by spaces, unless nothing would be left."""
    return _others().sub(" ", text.casefold()).strip() or text


@cache
def _others() -> re.Pattern[str]:
    # A mark after a letter belongs to the letter, like the vowels of many scripts. A mark after a symbol is removed
    # with the symbol. With marks beyond the basic plane the pattern would be ten times as slow.
    marks = "".join(c for c in map(chr, range(0x10000)) if unicodedata.category(c)[0] == "M")
    return re.compile(rf"(?:[^\w{marks}]|_)[\W_]*")


class MinHasher:
    """Computes the same signatures as datasketch's `MinHash`, many times as fast.

    A text is represented by the set of character 5-grams of its folded form. A text with fewer than five characters, or
    without letters and digits, is a single shingle: it is similar to no other text.

    Args:
        seed: the run's seed, from which the permutations are drawn.
    """

    def __init__(self, seed: int) -> None:
        drawn = int(np.random.default_rng([seed, NEAR]).integers(0, 2**32))
        self.permutations: UInt32s = MinHash(num_perm=PERMUTATIONS, seed=drawn).permutations

    def __call__(self, texts: list[str]) -> UInt32s:
        """Return the texts' signatures, `[texts, 128]` uint32."""
        kept = [fold(text) for text in texts]
        width = [SHINGLE if any(map(str.isalnum, text)) else len(text) for text in kept]
        codes = np.frombuffer("".join(kept).encode("utf-32-le"), np.uint32)
        stops = np.cumsum([len(text) for text in kept], dtype=np.int64)
        return _signatures(codes, stops, np.array(width, np.int64), *self.permutations)


@compiled
def _signatures(codes: UInt32s, stops: Int64s, width: Int64s, factors: UInt32s, terms: UInt32s) -> UInt32s:
    signatures = np.full((len(stops), len(factors)), 0xFFFFFFFF, np.uint32)
    start = 0
    for text in range(len(stops)):
        stop = stops[text]
        wide = min(width[text], stop - start)
        signature = signatures[text]
        for at in range(start, stop - wide + 1 if wide else start):
            x = np.uint64(0)
            for place in range(at, at + wide):
                x = (x ^ np.uint64(codes[place])) * np.uint64(0x9E3779B97F4A7C15)
                x ^= x >> np.uint64(29)
            # MurmurHash3's finaliser, which datasketch puts before its permutations.
            h = np.uint32(x >> np.uint64(32))
            h = np.uint32((h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B))
            h = np.uint32((h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35))
            h = np.uint32(h ^ (h >> np.uint32(16)))
            for k in range(len(signature)):
                signature[k] = min(signature[k], np.uint32(factors[k] * h + terms[k]))
        start = stop
    return signatures
