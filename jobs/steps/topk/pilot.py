"""The pilot of `topk`: a sample fixes the edges of the histograms and shows what the model does."""

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from jobs.engine.item import Item
from jobs.stage.corpus_pass import CorpusPass
from jobs.stage.layout import pilot_file
from jobs.stage.runner import Step
from ops.corpus.read_shard import read_shard
from ops.errors import InputError
from ops.model.activations import ScoreOptions, Scorer
from ops.model.batches import Lengths, batch_lengths, encode_batches
from ops.model.check_states import check_layers, padding_leaks, spread_lengths
from ops.model.load import ModelFacts
from ops.model.numerics import gpu_kind
from ops.model.tokenizer import Tokenizer
from ops.reducers.histogram import edges_from_pilot
from ops.sampling import PILOT, draw, pilot_size
from ops.shards import Shards
from ops.storage.side_by_side import side_by_side
from ops.storage.store import Store
from ops.topk import partial_file as topk_partial
from ops.topk.score_shard import score_batch


@dataclass(frozen=True)
class ScoreArgs:
    """What every scoring worker is made from; `equal_lengths` is known once the pilot is scored."""

    store: Store
    facts: ModelFacts
    options: ScoreOptions
    k: int
    poles: tuple[str, ...]
    token_budget: int
    fingerprint: str
    sharing: bool = True
    equal_lengths: bool = False

    @property
    def lengths(self) -> Lengths:
        """Which lengths a batch may hold."""
        return batch_lengths(self.options.device, self.equal_lengths)


def pilot_step(job: CorpusPass, args: ScoreArgs, at_most: int) -> Step:
    """Return the step that scores a sample of at most so many sentences and fixes the histograms' edges."""
    item = {"sentences": job.shards.sentences, "size": job.shards.size, "seed": job.args.seed, "pilot": at_most}
    outputs, holds = [pilot_file()], job.placement.holds
    return Step("topk: pilot", [item], lambda _: outputs, PilotScorer, {"args": args}, holds=holds, actors=True)


def read_widths(store: Store) -> tuple[int, ...]:
    """Return the units of each layer, as the pilot found them."""
    return tuple(read_footer(store, b"atlas.widths"))


def read_equal_lengths(store: Store) -> bool:
    """Tell whether padding changes what the model computes, as the pilot found."""
    return bool(read_footer(store, b"atlas.alike"))


def read_footer(store: Store, key: bytes) -> Any:
    """Return what the pilot's file says under a key; None where it says nothing."""
    with store.parquet(pilot_file().path) as file:
        return json.loads(file.schema_arrow.metadata.get(key, b"null"))


class PilotScorer:
    """Scores the pilot and commits every neuron's histogram edges."""

    def __init__(self, args: ScoreArgs) -> None:
        self.args, self.store = args, args.store
        self.tokenizer = Tokenizer(args.facts)
        self.scorer = Scorer(args.facts, args.options, self.tokenizer.pad_id)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Score a seeded sample and fix the edges."""
        shards = Shards(item["sentences"], item["size"])
        ids = draw(shards.sentences, pilot_size(shards.sentences, item["pilot"]), item["seed"], PILOT)
        some = [(i, rows) for i, rows in enumerate(shards.split(ids)) if len(rows)]
        parts = list(side_by_side(lambda own: read_shard(self.store, *own), some))
        sent_ids, n_tokens = (np.concatenate([p[column] for p in parts]) for column in (0, 2))
        texts = [text for p in parts for text in p[1]]
        equal = self._check([texts[i] for i in spread_lengths(n_tokens.tolist())])
        budget, lengths = self.args.token_budget, replace(self.args, equal_lengths=equal).lengths
        blocks = []
        for _, tokens in encode_batches(sent_ids, texts, n_tokens, self.tokenizer, budget, lengths):
            values, finite, _ = score_batch(self.scorer, tokens)
            blocks.append(values[finite].cpu())
        pilot = torch.cat(blocks)
        if not len(pilot):
            raise InputError(
                f"--model {self.args.facts.name}: gave no finite activation for any of {len(ids)} sentences; "
                "try --dtype float32, or another model"
            )
        edges = edges_from_pilot(pilot)
        table = pa.table({"edges": topk_partial.by_neuron(edges.numpy())})
        footer = {
            **pilot_file().footer(self.args.fingerprint, len(edges)),
            b"atlas.widths": json.dumps(self.scorer.widths()).encode(),
            b"atlas.alike": json.dumps(equal).encode(),
            b"atlas.gpu": json.dumps(gpu_kind()).encode(),
        }
        self.store.commit(pilot_file().path, lambda path: topk_partial.write_table(path, table, footer))
        return {"sentences": len(ids)}

    def _check(self, texts: list[str]) -> bool:
        """Refuse a model whose states are not what they seem; tell whether it needs batches of equal length."""
        tokens = self.tokenizer.encode(texts)
        check_layers(self.scorer, tokens)
        return padding_leaks(self.scorer, tokens)
