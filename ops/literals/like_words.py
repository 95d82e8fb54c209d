"""Which words of a corpus are alike in the model's token table."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ops.arrays import Float32s, Int64s, places_among
from ops.sampling import WORD_PAIRS
from ops.sentences.names import Names

QUANTILE = 0.999  # of the cosines of random pairs, above which two words are alike
_PAIRS = 100_000  # number of random pairs


@dataclass(frozen=True)
class LikeWords:
    """The directions of words in the model's token table, measured from the mean of all words.

    Attributes:
        codes: the words' codes, ascending, `[words]`.
        directions: their directions, of length 1, `[words, width]` float16.
        least: the cosine above which two words are alike.
    """

    codes: Int64s
    directions: npt.NDArray[np.float16]
    least: float

    @classmethod
    def none(cls) -> "LikeWords":
        """Return what says that no words are alike."""
        return cls(np.zeros(0, np.int64), np.zeros((0, 0), np.float16), 1.0)

    @classmethod
    def of(cls, words: list[str], vectors: Float32s, names: Names, seed: int) -> "LikeWords":
        """Return the directions of words, and the 99.9 % quantile of the cosines of random pairs of them.

        Args:
            words: the words in lower case, ascending.
            vectors: the vector of each word, `[words, width]`; words whose vector is zero are like no other.
            names: the names of all words in lower case.
            seed: the seed of the random pairs.
        """
        known = np.flatnonzero(np.any(vectors != 0, axis=1))
        if len(known) < 2:
            return cls.none()
        directions = directions_from_mean(vectors[known])
        known_words = pa.array([words[i] for i in known.tolist()], names.array.type)
        codes = np.asarray(pc.index_in(known_words, value_set=names.array).to_numpy(zero_copy_only=False), np.int64)
        random = np.random.default_rng([seed, WORD_PAIRS])
        first = random.integers(0, len(known), _PAIRS)
        other = (first + random.integers(1, len(known), _PAIRS)) % len(known)
        blocks = zip(np.split(first, 10), np.split(other, 10), strict=True)
        cosines = np.concatenate([np.einsum("ij,ij->i", directions[a], directions[b]) for a, b in blocks])
        return cls(codes, directions.astype(np.float16), float(np.quantile(cosines, QUANTILE)))

    def groups(self, words: Sequence[int]) -> list[list[int]]:
        """Return groups of words, as indices into `words`, which are the codes of distinct words, strongest first.

        A word joins the first group to whose members it is alike, all of them; otherwise it begins a group.
        """
        codes = np.asarray(words, np.int64)
        place, is_known = places_among(self.codes, codes)
        directions = np.zeros((len(codes), self.directions.shape[1]), np.float32)
        directions[is_known] = self.directions[place]
        alike = directions @ directions.T > self.least
        groups: list[list[int]] = []
        for word in range(len(codes)):
            joined = next((group for group in groups if alike[word, group].all()), None)
            if joined is None:
                groups.append([word])
            else:
                joined.append(word)
        return groups


def directions_from_mean(vectors: Float32s) -> Float32s:
    """Return the directions of vectors from their mean, since those of a token table have a large part in common."""
    return unit(vectors - vectors.mean(0, dtype=np.float64).astype(np.float32))


def unit(vectors: Float32s) -> Float32s:
    """Return vectors scaled to length 1; zero vectors stay zero, `[n, width]`."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, np.float32(1)))
