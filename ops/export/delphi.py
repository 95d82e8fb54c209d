"""Writes a cache of latents that EleutherAI's delphi can read: a folder for each layer and pole below `latents/`.

The layout is that of delphi 0.1.3 (`delphi/latents/cache.py` writes it, `delphi/latents/loader.py` reads it):
`latents/MODULE/FIRST_LAST.safetensors` with `locations` `[activations, 3]` (row, place in the row, unit minus FIRST),
`activations` and `tokens` `[rows, context]`, and `config.json`. Every file contains the same tokens, because the loader
takes them from the first file that it opens. The rows are the sentences of winners and hard negatives. A sentence that
is longer than a row continues in the next row, and its last row is padded.

Hard negatives have no activations here. delphi counts a row as activating if a single token of it is active, and for a
dense neuron most sentences contain such a token.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa

from ops.arrays import Float32s, Int32s, Int64s
from ops.errors import InputError
from ops.export.places import module_name
from ops.export.winners import Side, WinnersReader
from ops.model.tokenizer import Tokenizer
from ops.shards import spans

FOLDER = "latents"
UNITS_PER_FILE = 4_096
AT_ONCE = 8_192  # number of sentences that are tokenized together
LEAST = 1e-5  # activations up to this value count as inactive, as in delphi


@dataclass(kw_only=True)
class Delphi:
    """The files of an export, and the functions that write them.

    Attributes:
        reader, tokenizer: the reader of the winners, and the run's tokenizer.
        place: for each layer, the site, or the place that its dictionary reads.
        context: number of tokens in a row.
        config: the entries of `config.json` other than sizes.
        out: the run's folder, for messages.
    """

    reader: WinnersReader
    tokenizer: Tokenizer
    place: dict[int, str]
    context: int
    config: dict[str, Any]
    out: str

    def writers(self) -> dict[str, Callable[[str], None]]:
        """Return the function that writes each file to a local path, by the file's name below the export's folder."""
        files: dict[str, Callable[[str], None]] = {}
        for side in self.reader.sides:
            folder = self.folder(side)
            for first in range(0, side.width, UNITS_PER_FILE):
                stop = min(first + UNITS_PER_FILE, side.width)
                # The loader assumes that the units of a module's files follow each other without a gap.
                files[f"{folder}/{first}_{stop - 1}.safetensors"] = partial(self._write_latents, side, first, stop)
            files[f"{folder}/config.json"] = partial(self._write_config, -(-side.width // UNITS_PER_FILE))
        return files

    def folder(self, side: Side) -> str:
        """Return the path, below the export's folder, of the folder for a layer and pole."""
        return f"{FOLDER}/{module_name(self.place[side.layer], side.layer, side.pole)}"

    @cached_property
    def _sentences(self) -> tuple[Int64s, Int64s, Int64s, Int32s]:
        """The sentences, each one's number of tokens and first token's index, and all tokens, `[rows, context]`."""
        sentences = self.reader.sentences()
        encoded: list[list[int]] = []
        for start, stop in spans(len(sentences), AT_ONCE):  # the tokenizer's own records of a sentence are large
            own = sentences[start:stop]
            texts = self.reader.texts(own)
            encoded += [tokens.ids for tokens in self.tokenizer.encode([texts[i] for i in own.tolist()])]
        lengths = np.array([len(ids) for ids in encoded], np.int64)
        n_rows = -(-lengths // self.context)
        begins = (np.cumsum(n_rows) - n_rows) * self.context
        tokens = np.full((n_rows.sum(), self.context), self.tokenizer.filler_id, np.int32)
        flat = tokens.reshape(-1)
        for begin, ids in zip(begins.tolist(), encoded, strict=True):
            flat[begin : begin + len(ids)] = ids
        return sentences, lengths, begins, tokens

    @cached_property
    def _vocabulary(self) -> pa.Array:
        return pa.array(self.tokenizer.vocabulary(), pa.string())

    def latents(self, side: Side, first: int, stop: int) -> tuple[Int64s, Float32s]:
        """Return the locations and the activations of a side's units from `first` to `stop` - 1.

        Locations are `[activations, 3]`, sorted by unit and place: row, place in the row, unit minus `first`.

        Raises:
            InputError: the tokenizer returns other tokens than the run contains.
        """
        winners = self.reader.read(side, first, stop)
        sentences, lengths, begins, tokens = self._sentences
        at = np.searchsorted(sentences, winners.sent_id)
        flat = begins[at][winners.row] + winners.place
        same = np.array_equal(lengths[at], np.diff(winners.offsets))
        if not same or not self._vocabulary.take(tokens.reshape(-1)[flat]).equals(winners.tokens):
            raise InputError(
                f"--out {self.out}: token_activations/ has other tokens than the model's tokenizer makes of its "
                "sentences; put the tokenizer of the run back"
            )
        active = winners.counts & (winners.heights > LEAST)
        unit = winners.unit[winners.row][active].astype(np.int64) - first
        flat, heights = flat[active], winners.heights[active]
        order = np.lexsort((flat, unit))
        places = np.stack([flat // self.context, flat % self.context, unit], axis=1)[order]
        return places, heights[order].astype(np.float32)

    def _write_latents(self, side: Side, first: int, stop: int, path: str) -> None:
        from safetensors.numpy import save

        locations, activations = self.latents(side, first, stop)
        # The smaller of delphi's two integer types that can store the locations.
        small = np.uint16 if locations.max(initial=0) < 1 << 16 else np.uint32
        held = {"locations": locations.astype(small), "activations": activations, "tokens": self._sentences[3]}
        # `save_file` would create a file that only its owner can read.
        with open(path, "wb") as file:
            file.write(save(held))

    def _write_config(self, files: int, path: str) -> None:
        sizes = {"cache_ctx_len": self.context, "n_tokens": self._sentences[3].size, "n_splits": files}
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**self.config, **sizes}, file, indent=4, ensure_ascii=False)
