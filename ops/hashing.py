"""64-bit hashes: mixing, so that each bit of the result depends on all bits of the input, and the hash of a text."""

import hashlib

import numpy as np

from ops.arrays import UInt64s


def mix(numbers: UInt64s) -> UInt64s:
    """Return each number mixed by a one-to-one function, in the same shape.

    The function is SplitMix64's finaliser (Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
    OOPSLA 2014).
    """
    x = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def text_hash(text: str) -> int:
    """Return the 64-bit BLAKE2b hash of a text, which is the same on every machine."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest)
