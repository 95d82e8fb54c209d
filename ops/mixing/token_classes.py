"""The class of a token: [CLS], [SEP], [MASK], a period or comma, or other."""

import numpy as np

from ops.arrays import Bools, Int8s, Int64s
from ops.model.tokenizer import Tokenizer

ALL = "all"
CLASSES = ("other", "punct", "mask", "sep", "cls")
OTHER, PUNCT, MASK, SEP, CLS = range(len(CLASSES))

# Marks of the start of a word: byte-level BPE, SentencePiece.
_BEGINNINGS = "\u0120\u2581"


class TokenClasses:
    """The classes of a tokenizer's tokens; `<s>` and `</s>` are RoBERTa's [CLS] and [SEP]."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.strings = tokenizer.vocabulary()
        self._own = np.zeros(len(self.strings), np.int8)
        self._own[[i for i, s in enumerate(self.strings) if s.lstrip(_BEGINNINGS) in (".", ",")]] = PUNCT
        self._added = np.zeros(len(self.strings), np.int8)
        if tokenizer.mask_id is not None:
            self._own[tokenizer.mask_id] = MASK
        if tokenizer.sep_id is not None:
            self._added[tokenizer.sep_id] = SEP
        if tokenizer.cls_id is not None:
            self._added[tokenizer.cls_id] = CLS

    def __call__(self, ids: Int64s, added: Bools) -> Int8s:
        """Return each token's class as its index in CLASSES, in the shape of `ids` and `added`, which may be any.

        [CLS] and [SEP] are only recognised if the tokenizer added them.
        """
        return np.asarray(np.where(added, self._added[ids], self._own[ids]))
