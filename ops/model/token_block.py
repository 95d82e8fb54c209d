"""The tokens of many sentences as flat arrays, which another process can receive without rebuilding lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import overload

import numpy as np

from ops.arrays import Bools, Int32s, Int64s
from ops.model.tokenizer import Tokens


@dataclass(frozen=True)
class TokenBlock(Sequence[Tokens]):
    """The tokens of some sentences, which also works as a sequence of `Tokens`.

    Attributes:
        ids: the token ids of all sentences, one sentence after another, `[tokens]` int32.
        added: which tokens the tokenizer added, `[tokens]` bool.
        offsets: where each sentence's tokens begin, and where the last sentence's end, `[sentences + 1]` int64.
        cut: the number of tokens of each sentence that were cut off at the limit, `[sentences]` int32.
    """

    ids: Int32s
    added: Bools
    offsets: Int64s
    cut: Int32s

    @classmethod
    def of(cls, sentences: Sequence[Tokens]) -> "TokenBlock":
        """Return a block of these sentences; a block is returned unchanged."""
        if isinstance(sentences, TokenBlock):
            return sentences
        offsets = np.concatenate([[0], np.cumsum([len(t.ids) for t in sentences], dtype=np.int64)])
        total = int(offsets[-1])
        return cls(
            np.fromiter(chain.from_iterable(t.ids for t in sentences), np.int32, total),
            np.fromiter(chain.from_iterable(t.added for t in sentences), bool, total),
            offsets.astype(np.int64),
            np.fromiter((t.cut for t in sentences), np.int32, len(sentences)),
        )

    @classmethod
    def joined(cls, blocks: Sequence["TokenBlock"]) -> "TokenBlock":
        """Return the sentences of one or more blocks as one block."""
        sizes = np.array([len(block.ids) for block in blocks], np.int64)
        starts = np.cumsum(sizes) - sizes
        offsets = [blocks[0].offsets[:1], *(b.offsets[1:] + at for b, at in zip(blocks, starts, strict=True))]
        names = ("ids", "added", "cut")
        ids, added, cut = (np.concatenate([getattr(block, name) for block in blocks]) for name in names)
        return cls(ids, added, np.concatenate(offsets), cut)

    def take(self, sentences: Int64s) -> "TokenBlock":
        """Return the sentences with these indices, in this order, as a block."""
        lengths = self.lengths[sentences]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        place = np.arange(offsets[-1]) + np.repeat(self.offsets[sentences] - offsets[:-1], lengths)
        return TokenBlock(self.ids[place], self.added[place], offsets, self.cut[sentences])

    def __len__(self) -> int:
        return len(self.cut)

    @overload
    def __getitem__(self, sentence: int) -> Tokens: ...

    @overload
    def __getitem__(self, sentence: slice) -> list[Tokens]: ...

    def __getitem__(self, sentence: int | slice) -> Tokens | list[Tokens]:
        if isinstance(sentence, slice):
            return [self[i] for i in range(*sentence.indices(len(self)))]
        place = range(len(self))[sentence]
        own = slice(int(self.offsets[place]), int(self.offsets[place + 1]))
        return Tokens(self.ids[own].tolist(), self.added[own].astype(int).tolist(), int(self.cut[place]))

    @property
    def lengths(self) -> Int64s:
        """The number of tokens of each sentence, `[sentences]`."""
        return np.diff(self.offsets)

    @property
    def of_one_length(self) -> bool:
        """Whether all sentences have the same number of tokens, so that a batch of them has no padding."""
        return len(self) > 0 and bool((self.lengths == self.lengths[0]).all())
