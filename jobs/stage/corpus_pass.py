"""Stages that run the model over the corpus, shard by shard: `topk` and the side jobs."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from jobs.engine.fan_out import ITEMS_AHEAD
from jobs.engine.item import Item
from jobs.options.configs import CorpusPassConfig, SampledPassConfig, without_ingest
from jobs.run_folder.run import Run, RunReader
from jobs.run_folder.stages import TOKENS
from jobs.stage.checks import require_corpus
from jobs.stage.costs import PASSES
from jobs.stage.dry_run import DryRun
from jobs.stage.model_time import pass_seconds
from jobs.stage.outputs import Output, shard_file
from jobs.stage.placement import Placement, choose_placement
from jobs.stage.runner import Stage, begin_stage
from jobs.stage.step import Step
from ops.corpus.corpus_tokens import CorpusTokens, KeptTokens
from ops.errors import InputError, counted
from ops.model.batches import TokenBlock
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.sampling import MEASURED, draw
from ops.shards import Ids, Shards
from ops.storage.store import Store

PARTIALS_BYTES = 16e9  # most bytes of all partial files of a pass


@dataclass(frozen=True, kw_only=True)
class PassArgs:
    """The arguments from which the workers of a pass are made; the args of each job add its own options.

    Attributes:
        kept: where ingest stored the tokens of corpus/, made by this model's tokenizer; None if they were not stored.
    """

    store: Store
    facts: ModelFacts
    device: str
    dtype: str
    threads: int | None
    token_budget: int
    seed: int
    kept: KeptTokens | None

    @property
    def arithmetic(self) -> dict[str, Any]:
        """How the model computes, as keyword arguments of its readers."""
        names = ("device", "dtype", "threads", "token_budget")
        return {name: getattr(self, name) for name in names}

    def tokens(self, tokenizer: Callable[[], Tokenizer]) -> CorpusTokens:
        """Return the reader of the tokens of corpus/; it calls `tokenizer` to get the model's tokenizer if needed."""
        return CorpusTokens(self.store, self.kept, tokenizer)

    def batches(self, item: Item, tokenizer: Callable[[], Tokenizer]) -> Iterator[tuple[Ids, TokenBlock]]:
        """Yield the batches of an item's sentences; a batch never spans two shards."""
        tokens = self.tokens(tokenizer)
        for part, rows in part_rows(item):
            yield from tokens.batches(part, self.token_budget, ids=rows)


@dataclass(frozen=True)
class CorpusPass:
    """A pass of the model over the corpus that was begun; its shards, or groups of shards, are the items of a step.

    Attributes:
        placement, prefetch: where the pass runs, and how many shards a GPU worker holds at a time.
        sample: the ids of the sentences that are read, ascending; None if all sentences are read.
    """

    stage: Stage
    corpus: dict[str, Any]
    shards: Shards
    per_group: int
    placement: Placement
    args: PassArgs
    prefetch: int
    sample: Ids | None = None

    @property
    def sentences(self) -> int:
        """The number of sentences that are read."""
        return self.shards.sentences if self.sample is None else len(self.sample)

    @property
    def numbers(self) -> list[int]:
        """The indices of the shards that hold a sentence to be read, ascending."""
        if self.sample is None:
            return list(range(len(self.shards)))
        return [i for i, ids in enumerate(self.shards.split(self.sample)) if len(ids)]

    @property
    def partials(self) -> list[Output]:
        """All partial files, in the order of the shards; merge them in this order to get bit-identical results."""
        return [shard_file(self.stage.name, i) for i in self.numbers]

    def shard_step(
        self,
        worker: Callable[..., Any],
        args: Item,
        prepare: Callable[[Item], Any] | None = None,
        more: Callable[[Item], Item] = dict,
        **changes: Any,
    ) -> Step:
        """Return the step whose items are the shards, or groups of them, in an order that depends on the seed.

        An item has these entries:

        - `shard`: the index of the shard or group;
        - `place`: its index among the shards that are read;
        - `span`: the range `(first, stop)` of sentence ids;
        - `parts`: the parts of corpus/;
        - `rows`: the ids of the sentences of each part, or None for all; `part_rows` returns parts and rows together;
        - `sentences`: the number of sentences.

        The worker makes `shard_file(stage, shard)`.

        Args:
            prepare: reads a shard on other cores, ahead of workers that hold GPUs. The worker is called with its result
                too, or with None where shards are not read ahead.
        """
        places = {number: index for index, number in enumerate(self.numbers)}
        items = [{"place": places[i], **self._item(i)} for i in self.shards.order(self.args.seed) if i in places]
        name, placement = self.stage.name, self.placement
        if placement.workers and len(items) < placement.workers and not self.stage.is_planned:
            few = f"{counted(len(items), 'shard')} for {placement.workers} workers"
            print(f"{name}: {few}; a smaller --shard-size would use them all", file=sys.stderr)
        step: dict[str, Any] = {
            "name": name, "items": [{**item, **more(item)} for item in items],
            "outputs": lambda item: [shard_file(name, item["shard"])], "worker": worker, "args": args,
            "unit": "shards" if self.per_group == 1 else "groups", "work": ("sentences", self.sentences),
            "prepare": prepare, "ahead": self.prefetch if placement.reads_ahead else ITEMS_AHEAD,
            "estimate": self.seconds, **placement.spread,
        }  # fmt: skip
        return Step(**{**step, **changes})

    def seconds(self, run: DryRun, passes: float | None = None) -> float | None:
        """Return the seconds that one worker needs for all sentences, for `--dry-run`; None if they are unknown.

        `passes` is what a sentence costs, as a multiple of the forward pass; by default that of the stage.
        """
        cost = PASSES[self.stage.name] if passes is None else passes
        args = self.args
        return pass_seconds(run, args.facts, self.placement, args.dtype, self.sentences, cost)

    def _item(self, number: int) -> Item:
        first, stop = self.shards.span(number)
        corpus = self.stage.run.shards()
        parts = list(range(number * self.per_group, min((number + 1) * self.per_group, len(corpus))))
        item = {"shard": number, "span": (first, stop), "parts": parts, "rows": None, "sentences": stop - first}
        if self.sample is None:
            return item
        own = self.sample[slice(*np.searchsorted(self.sample, (first, stop)))]
        cuts = np.searchsorted(own, [corpus.span(part)[0] for part in parts[1:]])
        return {**item, "rows": [ids.tolist() for ids in np.split(own, cuts)], "sentences": len(own)}

    def accounted(self, scored: int, unscored: int, counts: dict[str, Any]) -> dict[str, Any]:
        """Return the counts of the stage, after checking that every sentence was counted as scored or unscored.

        Raises:
            InputError: no sentence could be scored.
            RuntimeError: the numbers of scored and unscored sentences do not add up to the number of sentences read.
        """
        if scored + unscored != self.sentences:
            raise RuntimeError(
                f"{self.stage.name}: of {self.sentences} sentences {scored} were scored and {unscored} not"
            )
        if not scored:
            raise InputError("--model: gave no finite value for any sentence; try --dtype float32, or another model")
        return {"scored": scored, "unscored": unscored, **counts}


def begin_pass(
    name: str,
    config: CorpusPassConfig,
    run: Run,
    facts: ModelFacts,
    tokenizer: Tokenizer,
    depends_on: dict[str, Any],
    *,
    per_group: int = 1,
    model_of_the_run: bool = False,
) -> CorpusPass | None:
    """Start or resume a stage that is a pass of the model over the corpus, which must exist; None if it was done.

    Args:
        depends_on: the job's own options that its results depend on; model, placement, dtype and seed are added here.
        per_group: the number of shards that share one partial file; it is above 1 if a worker's state is large. The
            results depend on it.
        model_of_the_run: whether the model is recorded as the model of the complete run, as for `topk`. Otherwise it is
            recorded only for this stage, since a side job may use another model with the same tokenizer.

    Raises:
        InputError: the tokenizer is not the tokenizer of the corpus, or results of other options exist.
    """
    corpus = require_corpus(config, tokenizer, run)
    placement = choose_placement(config, run, name)
    depends_on = {**depends_on, "dtype": config.dtype, "seed": config.seed}
    if per_group > 1:
        depends_on["per_group"] = per_group
    if (sample := measured_sentences(config, run)) is not None:
        depends_on["sentences"] = len(sample)
    depends_on |= {"model": facts.fingerprint, **placement.identity}
    options = without_ingest(config)
    options |= {"device": placement.device, "token_budget": placement.token_budget}
    model = {"model": describe(facts)}
    about = {} if model_of_the_run else model
    counted = ("scored", "sentences scored")
    stage = begin_stage(name, config, run, depends_on, counted=counted, options=options, about=about)
    if stage is None:
        return None
    if model_of_the_run:
        stage.of_the_run = model
    args = PassArgs(
        store=stage.store, facts=facts, device=placement.device, dtype=config.dtype, threads=placement.threads,
        token_budget=placement.token_budget, seed=config.seed, kept=kept_tokens(run),
    )  # fmt: skip
    return CorpusPass(stage, corpus, run.shards(per_group), per_group, placement, args, config.prefetch, sample)


def group_size(shards: int, partial_bytes: int) -> int:
    """Return how many shards share a partial file of so many bytes, so that all files stay below `PARTIALS_BYTES`."""
    return -(-shards // max(int(PARTIALS_BYTES // partial_bytes), 1))


def measured_sentences(config: CorpusPassConfig, run: RunReader) -> Ids | None:
    """Return the ids of the sentences that `--sentences` draws from the finished corpus, ascending; None for all."""
    size = config.sentences if isinstance(config, SampledPassConfig) else None
    sentences = run.shards().sentences
    return None if size is None or size >= sentences else draw(sentences, size, config.seed, MEASURED)


def part_rows(item: Item) -> list[tuple[int, Ids | None]]:
    """Return the parts of corpus/ that an item of a pass reads, each with the ids to read; None for all."""
    rows = item["rows"] or [None] * len(item["parts"])
    return [
        (part, None if ids is None else np.array(ids, np.int64)) for part, ids in zip(item["parts"], rows, strict=True)
    ]


def kept_tokens(run: RunReader) -> KeptTokens | None:
    """Return where ingest stored the tokens of the finished corpus; None if an earlier version stored no tokens."""
    corpus = run.require("ingest")
    return KeptTokens(TOKENS, corpus["fingerprint"]) if TOKENS in run.record["tables"] else None


def describe(facts: ModelFacts) -> dict[str, Any]:
    """Return the entry of run.json for a model; it includes `seed` if the weights are random."""
    return {
        "name": facts.name, "type": facts.model_type, "layers": facts.layers, "width": facts.width,
        "position_limit": facts.position_limit, "fingerprint": facts.fingerprint,
        **({} if facts.seed is None else {"seed": facts.seed}),
    }  # fmt: skip
