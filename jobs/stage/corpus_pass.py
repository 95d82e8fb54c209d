"""Stages that run the model over the corpus, shard by shard: `topk` and the side jobs."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jobs.engine.fan_out import ITEMS_AHEAD
from jobs.engine.item import Item, Worker
from jobs.engine.machines import asked_for_gpus
from jobs.stage.checks import require_corpus
from jobs.stage.dry_run import DryRun, Plan
from jobs.stage.files import Output, shard_file
from jobs.stage.options import CorpusPassConfig, SampledPassConfig, without_ingest
from jobs.stage.placement import Placement, choose_placement
from jobs.stage.run import Run, RunReader
from jobs.stage.runner import Stage, StageSpec, Step, run_stage
from jobs.stage.stages import TOKENS
from ops.corpus.corpus_tokens import CorpusTokens, KeptTokens
from ops.errors import InputError, counted
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.sampling import MEASURED, draw
from ops.shards import Ids, Shards
from ops.storage.store import Store


@dataclass(frozen=True)
class PassArgs:
    """The arguments from which the workers of a pass are made; the args of each job add its own options.

    Attributes:
        store: the run's folder.
        facts: the model.
        fingerprint: the fingerprint of the stage.
        device, dtype, threads, token_budget: how the model computes.
        seed: the seed of every random draw.
        kept: where ingest stored the tokens of corpus/, made by this model's tokenizer; None if they were not stored.
    """

    store: Store
    facts: ModelFacts
    fingerprint: str
    device: str
    dtype: str
    threads: int | None
    token_budget: int
    seed: int
    kept: KeptTokens | None

    def tokens(self, tokenizer: Callable[[], Tokenizer]) -> CorpusTokens:
        """Return the reader of the tokens of corpus/; it calls `tokenizer` to get the model's tokenizer if needed."""
        return CorpusTokens(self.store, self.kept, tokenizer)


@dataclass(frozen=True)
class CorpusPass:
    """A pass of the model over the corpus that was begun; its shards, or groups of shards, are the items of a step.

    Attributes:
        stage: the stage under way.
        corpus: the entry of the corpus in run.json.
        shards: the shards of the corpus, or groups of them.
        per_group: the number of shards in a group.
        placement, prefetch: where the pass runs, and how many shards a GPU worker holds at a time.
        args: the arguments from which its workers are made.
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
        self, worker: Callable[..., Worker], args: Item, prepare: Callable[[Item], Any] | None = None
    ) -> Step:
        """Return the step whose items are the shards, or groups of them, in an order that depends on the seed.

        An item has these entries:

        - `shard`: the index of the shard or group;
        - `place`: its index among the shards that are read;
        - `span`: the range `(first, stop)` of sentence ids;
        - `parts`: the parts of corpus/;
        - `rows`: the ids of the sentences of each part, or None for all; `part_rows` returns parts and rows together;
        - `sentences`: the number of sentences.

        `prepare` is used if shards are read ahead of GPUs. The worker commits `shard_file(stage, shard)` and returns a
        row that holds `sentences`.
        """
        places = {number: place for place, number in enumerate(self.numbers)}
        items = [{"place": places[i], **self._item(i)} for i in self.shards.order(self.args.seed) if i in places]
        name = self.stage.name
        return Step(
            name,
            items,
            lambda item: [shard_file(name, item["shard"])],
            worker,
            args,
            "shards",
            ("sentences", self.sentences),
            prepare if self.placement.reads_ahead else None,
            self.placement.holds,
            self.placement.workers,
            actors=True,
            ahead=self.prefetch if self.placement.reads_ahead else ITEMS_AHEAD,
        )

    def _item(self, number: int) -> Item:
        first, stop = self.shards.span(number)
        corpus = self.stage.record.shards()
        parts = list(range(number * self.per_group, min((number + 1) * self.per_group, len(corpus))))
        item = {"shard": number, "span": (first, stop), "parts": parts, "rows": None, "sentences": stop - first}
        if self.sample is None:
            return item
        own = self.sample[slice(*np.searchsorted(self.sample, (first, stop)))]
        cuts = np.searchsorted(own, [corpus.span(part)[0] for part in parts[1:]])
        return {**item, "rows": [ids.tolist() for ids in np.split(own, cuts)], "sentences": len(own)}

    def do_first(self, step: Step) -> None:
        """Do a step of one item that the shards wait for, and let a cluster start its GPU machines in the meantime."""
        if todo := self.stage.missing(step):
            workers = min(self.placement.workers or 1, len(self.numbers))
            with asked_for_gpus(workers - 1 if self.placement.reads_ahead else 0):
                self.stage.do(step, todo=todo)

    def do(self, step: Step, each: Callable[[Item], None] | None = None, todo: list[Item] | None = None) -> list[Item]:
        """Do the step of the shards as `Stage.do` does, and print a hint if there are fewer shards than workers."""
        if self.placement.workers and len(step.items) < self.placement.workers:
            few = f"{counted(len(step.items), 'shard')} for {self.placement.workers} workers"
            hint = f"{few}; a smaller --shard-size would use them all"
            print(f"{self.stage.name}: {hint}", file=sys.stderr)
        return self.stage.do(step, each, todo)

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


def run_pass(
    name: str,
    config: CorpusPassConfig,
    record: Run,
    facts: ModelFacts,
    tokenizer: Tokenizer,
    depends_on: dict[str, Any],
    do: Callable[[CorpusPass], dict[str, Any]],
    plan: Callable[[CorpusPass, DryRun], Plan],
    per_group: int = 1,
    model_of_the_run: bool = False,
) -> Stage | None:
    """Run a stage that is a pass of the model over the corpus, as `run_stage` does; the corpus must exist.

    Args:
        name: the stage.
        config: the options.
        record: the run.
        facts, tokenizer: the model and its tokenizer, as `checks.check_pass` returned them.
        depends_on: the job's own options that its results depend on; model, placement, dtype and seed are added here.
        do: does the pass, writes its tables and returns the counts; `CorpusPass.accounted` checks them.
        plan: returns what the pass would do, for `--dry-run`.
        per_group: the number of shards that share one partial file; it is above 1 if a worker's state is large. The
            results depend on it.
        model_of_the_run: whether the model is recorded as the model of the complete run, as for `topk`. Otherwise it is
            recorded only for this stage, since a side job may use another model with the same tokenizer.

    Raises:
        InputError: the tokenizer is not the tokenizer of the corpus, or results of other options exist.
    """
    corpus = require_corpus(config, tokenizer, record)
    placement = choose_placement(config, record, name)
    depends_on = {**depends_on, "dtype": config.dtype, "seed": config.seed}
    if per_group > 1:
        depends_on["per_group"] = per_group
    if (sample := measured_sentences(config, record)) is not None:
        depends_on["sentences"] = len(sample)
    depends_on |= {"model": facts.fingerprint, **placement.identity}
    options = without_ingest(config)
    options |= {"device": placement.device, "token_budget": placement.token_budget}
    model = {"model": describe(facts)}

    def begun(stage: Stage) -> CorpusPass:
        args = PassArgs(
            stage.store, facts, stage.fingerprint, placement.device, config.dtype, placement.threads,
            placement.token_budget, config.seed, kept_tokens(record),
        )  # fmt: skip
        shards = record.shards(per_group)
        return CorpusPass(stage, corpus, shards, per_group, placement, args, config.prefetch, sample)

    spec = StageSpec(
        name,
        depends_on,
        lambda stage: do(begun(stage)),
        lambda stage, dry_run: plan(begun(stage), dry_run),
        ("scored", "sentences scored"),
        options,
        about={} if model_of_the_run else model,
        of_the_run=(lambda *_: model) if model_of_the_run else None,
    )
    return run_stage(spec, config, record)


def measured_sentences(config: CorpusPassConfig, record: RunReader) -> Ids | None:
    """Return the ids of the sentences that `--sentences` draws from the finished corpus, ascending; None for all.

    Raises:
        InputError: there is no corpus.
    """
    size = config.sentences if isinstance(config, SampledPassConfig) else None
    there = record.shards().sentences
    return None if size is None or size >= there else draw(there, size, config.seed, MEASURED)


def part_rows(item: Item) -> list[tuple[int, Ids | None]]:
    """Return the parts of corpus/ that an item of a pass reads, each with the ids to read; None for all."""
    rows = item["rows"] or [None] * len(item["parts"])
    return [
        (part, None if ids is None else np.array(ids, np.int64)) for part, ids in zip(item["parts"], rows, strict=True)
    ]


def kept_tokens(record: RunReader) -> KeptTokens | None:
    """Return where ingest stored the tokens of the finished corpus; None if an earlier version stored no tokens.

    Raises:
        InputError: there is no corpus.
    """
    corpus = record.require("ingest")
    return KeptTokens(TOKENS, corpus["fingerprint"]) if TOKENS in record.record["tables"] else None


def describe(facts: ModelFacts) -> dict[str, Any]:
    """Return the entry of run.json for a model; it includes `seed` if the weights are random."""
    return {
        "name": facts.name, "type": facts.model_type, "layers": facts.layers, "width": facts.width,
        "position_limit": facts.position_limit, "fingerprint": facts.fingerprint,
        **({} if facts.seed is None else {"seed": facts.seed}),
    }  # fmt: skip
