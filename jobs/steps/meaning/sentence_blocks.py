"""The second step of the sentences of `meaning`: the model reads blocks of the chosen ones."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from jobs.engine.item import Item
from jobs.stage.corpus_pass import CorpusPass
from jobs.stage.layout import Output
from jobs.stage.runner import Step
from jobs.stage.stages import STAGES
from jobs.steps.meaning.sentences import MASKED, PAIR, SENTENCES, TRANSLATION, SentenceArgs, chosen_file
from ops.meaning.masked_words import mask
from ops.meaning.sentence_states import SentenceReader, cosines, masked_ranks, next_scores, overlap, own_ids
from ops.model.heads import MASKED_WORD, NEXT_SENTENCE, load_head
from ops.model.tokenizer import PlacedTokens, Tokenizer
from ops.sentences.pipeline import Annotator
from ops.sentences.token_words import words_of_tokens
from ops.sentences.word_spans import word_spans
from ops.shards import spans

BLOCK = 200  # rows of the chosen sentences
NO_TAG = "none"


def read_step(job: CorpusPass, args: SentenceArgs, chosen: pa.Table) -> Step:
    """Return the step in which the model reads the chosen sentences."""
    kinds = chosen["kind"].to_pylist()
    items: list[Item] = []
    for kind in (PAIR, MASKED, TRANSLATION):
        first = kinds.index(kind) if kind in kinds else 0
        for start, stop in spans(kinds.count(kind), BLOCK):
            items.append({"block": len(items), "kind": kind, "span": (first + start, first + stop)})
    place = job.placement
    return Step(
        "meaning: sentences", items, lambda item: [block_file(item)], BlockReader, {"args": args}, "blocks",
        ("sentences", len(kinds)), holds=place.holds, workers=place.workers,
    )  # fmt: skip


def block_file(item: Item) -> Output:
    """Return the file of what the model says of a block."""
    return Output(f"{STAGES[SENTENCES].partials}/block-{item['block']:05d}.parquet", f"block-{item['block']}")


class BlockReader:
    """Reads one block of the chosen sentences after another; heads and tagger are loaded once they are needed."""

    def __init__(self, args: SentenceArgs) -> None:
        self.args, self.store = args, args.store
        self.tokenizer = Tokenizer(args.facts)
        own = (args.facts, self.tokenizer, args.device, args.dtype, args.threads, args.token_budget)
        self.reader = SentenceReader(*own)
        self._heads: dict[str, torch.nn.Module] = {}
        self._annotator: Annotator | None = None

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Read one block and commit what was found."""
        first, stop = item["span"]
        with self.store.parquet(chosen_file().path) as file:
            rows = file.read().slice(first, stop - first)
        texts: list[list[str | None]] = rows["texts"].to_pylist()
        if item["kind"] == PAIR:
            columns = self._pairs(texts)
        elif item["kind"] == MASKED:
            columns = self._masked([own[0] or "" for own in texts], rows["sent_id"].to_pylist())
        else:
            columns = {"state": _lists(self._states([own[0] or "" for own in texts]))}
        output, table = block_file(item), pa.table(columns)
        described = table.replace_schema_metadata(output.footer(self.args.fingerprint, table.num_rows))
        self.store.commit(output.path, lambda path: pq.write_table(described, path, compression="zstd"))
        return {"sentences": stop - first}

    def _states(self, texts: list[str]) -> np.ndarray:
        return self.reader.read(self.tokenizer.encode(texts)).reshape(len(texts), -1)

    def _pairs(self, texts: list[list[str | None]]) -> dict[str, pa.Array]:
        """Return each first sentence's cosines with three others by layer, shared tokens, and the head's scores."""
        flat = [text or "" for own in texts for text in own]
        tokens = self.tokenizer.encode(flat)
        states = self.reader.read(tokens).reshape(len(texts), 4, self.reader.layers, -1)
        near = cosines(states[:, 1:], states[:, :1])
        shared = np.array(
            [[overlap(own_ids(tokens[i]), own_ids(tokens[i + k])) for k in (1, 2, 3)] for i in range(0, len(flat), 4)],
            np.float32,
        )
        scores = np.full((len(texts), 3), np.nan, np.float32)
        if NEXT_SENTENCE in self.args.heads:
            model = self._head(NEXT_SENTENCE)
            for k in (1, 2, 3):
                others = [own[k] or "" for own in texts]
                given = ([own[0] or "" for own in texts], others, self.args.token_budget)
                scores[:, k - 1] = next_scores(model, self.tokenizer, *given)
        alone = np.array([own[3] is None for own in texts])
        for found in (near, shared, scores):
            found[alone, 2] = np.nan
        return {"cosine": _lists(near.reshape(len(texts), -1)), "tokens": _lists(shared), "head": _lists(scores)}

    def _masked(self, texts: list[str], sent_ids: list[int]) -> dict[str, pa.Array]:
        """Return rank and probability of the true token at each masked place, and the tag of its word."""
        args, tokenizer = self.args, self.tokenizer
        placed = tokenizer.encode_with_spans(texts)
        spared = frozenset(() if tokenizer.unknown_id is None else (tokenizer.unknown_id,))
        if tokenizer.mask_id is None:
            raise RuntimeError("meaning: a tokenizer without a mask token has no masked-word task")
        own = [
            mask(found.tokens, args.mask_rate, tokenizer.mask_id, spared, args.seed, number)
            for found, number in zip(placed, sent_ids, strict=True)
        ]
        there = [(i, m) for i, m in enumerate(own) if m is not None]
        model = self._head(MASKED_WORD)
        ranks, probability = masked_ranks(model, [m for _, m in there], tokenizer.pad_id, args.token_budget)
        tags = self._tags(texts, placed)
        return {
            "token": pa.array([t for _, m in there for t in m.truth], pa.int64()),
            "rank": pa.array(ranks),
            "probability": pa.array(probability),
            "tag": pa.array([tags[i][place] for i, m in there for place in m.places], pa.string()),
        }

    def _tags(self, texts: list[str], placed: list[PlacedTokens]) -> list[list[str]]:
        """Return the tag of the word that each token belongs to, by the packaged English pipeline."""
        if self._annotator is None:
            self._annotator = Annotator("english")
        found = []
        for text, own, annotation in zip(texts, placed, self._annotator.annotate(texts), strict=True):
            words = words_of_tokens(own.spans, word_spans(text, annotation.words))
            tags = annotation.tags or []
            found.append([tags[word] if 0 <= word < len(tags) else NO_TAG for word in words.tolist()])
        return found

    def _head(self, name: str) -> torch.nn.Module:
        if name not in self._heads:
            model = load_head(self.args.facts, name, self.args.device, self.args.dtype)
            if model is None:
                raise RuntimeError(f"meaning: the model's weights have no head for {name}")
            self._heads[name] = model
        return self._heads[name]


def _lists(values: np.ndarray) -> pa.Array:
    flat = pa.array(np.ascontiguousarray(values, np.float32).ravel())
    return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
