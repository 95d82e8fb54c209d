"""The network that the tagger and the parser share: word vectors from characters and forms, a CNN and a BiLSTM."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from ops.english.words import FORMS, Inventory

FORM_WIDTHS = {"word": 96, "suffix2": 24, "suffix3": 48, "prefix3": 32, "shape": 24}
CHARACTER_WIDTH = 24


class Maxout(nn.Module):
    """A linear layer with two values per output, of which the larger is used, then layer normalisation."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, 2 * outputs)
        self.norm = nn.LayerNorm(outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Return `[n, outputs]` for `[n, inputs]`."""
        greater: Tensor = self.linear(x).unflatten(-1, (2, -1)).amax(-2)
        normed: Tensor = self.norm(greater)
        return normed


class WordReader(nn.Module):
    """The part of the network that computes a vector for each distinct word from the rows of an Inventory."""

    def __init__(self, sizes: Mapping[str, int], width: int, dropout: float) -> None:
        super().__init__()
        self.forms = nn.ModuleList(nn.Embedding(sizes[kind], FORM_WIDTHS[kind]) for kind in FORMS)
        self.characters = nn.Embedding(sizes["character"], CHARACTER_WIDTH, padding_idx=0)
        self.windows = nn.Linear(3 * CHARACTER_WIDTH, 64)
        self.mix = Maxout(sum(FORM_WIDTHS.values()) + 64, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, rows: Tensor) -> Tensor:
        """Return `[words, width]` for the rows of words, `[words, COLUMNS]`."""
        forms = [table(rows[:, column]) for column, table in enumerate(self.forms)]
        read = nn.functional.pad(self.characters(rows[:, len(FORMS) :]), (0, 0, 1, 1))
        windows = torch.cat([read[:, :-2], read[:, 1:-1], read[:, 2:]], -1)
        spelling = self.windows(windows).amax(1).relu()
        mixed: Tensor = self.mix(self.dropout(torch.cat([*forms, spelling], -1)))
        return mixed


class Reader(nn.Module):
    """A CNN and a BiLSTM that read word vectors in their sentences, from `[words, width]` to `[words, 2 * hidden]`.

    The output of each BiLSTM layer is added to that of the layer below.
    """

    def __init__(
        self, inventory: Inventory, width: int, hidden: int, layers: int, windows: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.inventory = inventory
        self.width, self.hidden, self.layers, self.windows = width, hidden, layers, windows
        self.words = WordReader(inventory.sizes(), width, dropout)
        self.convolutions = nn.ModuleList(Maxout(3 * width, width) for _ in range(windows))
        self.lstms = nn.ModuleList(
            nn.LSTM(2 * hidden if layer else width, hidden, bidirectional=True) for layer in range(layers)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, vectors: Tensor, lengths: Sequence[int]) -> Tensor:
        """Return `[words, 2 * hidden]` for words in their sentences.

        Args:
            vectors: the vectors of the words of concatenated sentences, `[words, width]`.
            lengths: number of words of each sentence, at least 1.
        """
        before, after, order, batch_sizes = index_words(lengths)
        for convolution in self.convolutions:
            padded = torch.cat([vectors, vectors.new_zeros(1, vectors.shape[1])])
            vectors = vectors + convolution(torch.cat([padded[before], vectors, padded[after]], -1))
        read = self._recur(self.lstms[0], self._drop(vectors, lengths)[order], batch_sizes)
        for lstm in self.lstms[1:]:
            read = read + self._recur(lstm, self.dropout(read), batch_sizes)
        unordered = torch.empty_like(read)
        unordered[order] = read
        dropped: Tensor = self.dropout(unordered)
        return dropped

    def _recur(self, lstm: nn.Module, vectors: Tensor, batch_sizes: Tensor) -> Tensor:
        # The recurrence takes half of the training time, and bfloat16 halves this part where oneDNN, which runs it,
        # supports bfloat16 on this processor.
        in_half = self.training and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
        with torch.autocast("cpu", torch.bfloat16, enabled=in_half):
            read: Tensor = lstm(PackedSequence(vectors, batch_sizes))[0].data
        return read.float()

    def _drop(self, vectors: Tensor, lengths: Sequence[int]) -> Tensor:
        """Apply dropout in training, to the same units of all word vectors of a sentence."""
        if not self.training:
            return vectors
        kept: Tensor = self.dropout(vectors.new_ones(len(lengths), vectors.shape[1]))
        return vectors * kept.repeat_interleave(torch.as_tensor(lengths), 0)


def index_words(lengths: Sequence[int]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the positions that connect the words of concatenated sentences of these lengths.

    Returns:
        The index of the word before and of the word after each word in its sentence, `[words]` each (the total number
        of words if there is no such word); the order of words for a packed sequence (first words first, longest
        sentence first), `[words]`; the batch sizes of the packed sequence, `[longest]`.
    """
    sizes = np.asarray(lengths, np.int64)
    total = int(sizes.sum())
    starts = np.cumsum(sizes) - sizes
    before = np.arange(-1, total - 1)
    before[starts] = total
    after = np.arange(1, total + 1)
    after[starts + sizes - 1] = total
    sentence = np.repeat(np.arange(len(sizes)), sizes)
    step = np.arange(total) - starts[sentence]
    longest_first = np.empty(len(sizes), np.int64)
    longest_first[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    order = np.lexsort((longest_first[sentence], step))
    batch_sizes = np.bincount(step)
    return tuple(map(torch.from_numpy, (before, after, order, batch_sizes)))  # type: ignore[return-value]
