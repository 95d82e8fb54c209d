"""A stage that runs the model over the corpus, shard by shard: `topk`, and the side jobs."""

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
    """What the workers of a pass are made from; a job's own args add its options.

    Attributes:
        store: the run's folder.
        facts: the model.
        fingerprint: the stage's.
        device, dtype, threads, token_budget: how the model computes.
        seed: of every draw.
        kept: where ingest kept the tokens of corpus/, which are those of this model's tokenizer; None: nowhere.
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
        """Return what reads the tokens of corpus/; `tokenizer` returns the model's, where it is needed."""
        return CorpusTokens(self.store, self.kept, tokenizer)


@dataclass(frozen=True)
class CorpusPass:
    """A pass of the model over the corpus that was begun: its shards, or groups of them, are the items of a step.

    Attributes:
        stage: the stage under way.
        corpus: the entry of the corpus in run.json.
        shards: the corpus's, or groups of them.
        per_group: shards of a group.
        placement, prefetch: as chosen.
        args: what its workers are made from.
        sample: ids of the sentences that are read, ascending; None: all.
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
        """How many sentences are read."""
        return self.shards.sentences if self.sample is None else len(self.sample)

    @property
    def numbers(self) -> list[int]:
        """The shards that hold a sentence to be read, ascending."""
        if self.sample is None:
            return list(range(len(self.shards)))
        return [i for i, ids in enumerate(self.shards.split(self.sample)) if len(ids)]

    @property
    def partials(self) -> list[Output]:
        """All partial files, in the order of the shards: merge them in this order for the same bits."""
        return [shard_file(self.stage.name, i) for i in self.numbers]

    def shard_step(
        self, worker: Callable[..., Worker], args: Item, prepare: Callable[[Item], Any] | None = None
    ) -> Step:
        """Return the step whose items are the shards, or groups of them, in the seeded order.

        An item is `{"shard": number, "place": among those that are read, "span": (first, stop), "parts": [parts of
        corpus/], "rows": ids of the sentences of each part or None for all, "sentences": how many}`, where the span is
        that of the sentence ids; `part_rows` takes parts and rows together. `prepare` is used where shards are read
        ahead of GPUs. The worker commits `shard_file(stage, number)` and returns a row that holds `sentences`.
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
        """Do a step of one item that the shards wait for, and have a cluster's GPUs boot meanwhile, not after it."""
        if todo := self.stage.missing(step):
            workers = min(self.placement.workers or 1, len(self.numbers))
            with asked_for_gpus(workers - 1 if self.placement.reads_ahead else 0):
                self.stage.do(step, todo=todo)

    def do(self, step: Step, each: Callable[[Item], None] | None = None, todo: list[Item] | None = None) -> list[Item]:
        """Do the step of the shards as `Stage.do` does, with a word where there are fewer of them than workers."""
        if self.placement.workers and len(step.items) < self.placement.workers:
            few = f"{counted(len(step.items), 'shard')} for {self.placement.workers} workers"
            hint = f"{few}; a smaller --shard-size would use them all"
            print(f"{self.stage.name}: {hint}", file=sys.stderr)
        return self.stage.do(step, each, todo)

    def accounted(self, scored: int, unscored: int, counts: dict[str, Any]) -> dict[str, Any]:
        """Return the counts of the stage, once every sentence is known to have been scored or not.

        Raises:
            InputError: not one sentence could be scored.
            RuntimeError: the sentences do not add up.
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
    """Run a stage that is a pass of the model over the corpus, as `run_stage` does; the corpus must be there.

    Args:
        name: the stage.
        config: the options.
        record: the run.
        facts, tokenizer: as `checks.check_pass` found them.
        depends_on: the job's own options that its results depend on; model, placement, dtype and seed are added here.
        do: does the pass, writes its tables and returns the counts; `CorpusPass.accounted` checks them.
        plan: returns what the pass would do, for `--dry-run`.
        per_group: shards that share one partial file (where a worker's state is large); the results depend on it.
        model_of_the_run: whether the model becomes that of the whole run, as topk's does; otherwise it is recorded for
            this stage, since a side job may look at another model with the same tokenizer.

    Raises:
        InputError: another tokenizer than the corpus's, or results of other options are there.
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
    """Return the ids of the sentences that `--sentences` draws from the finished corpus, ascending; None: all of it.

    Raises:
        InputError: there is no corpus.
    """
    size = config.sentences if isinstance(config, SampledPassConfig) else None
    there = record.shards().sentences
    return None if size is None or size >= there else draw(there, size, config.seed, MEASURED)


def part_rows(item: Item) -> list[tuple[int, Ids | None]]:
    """Return the parts of corpus/ that an item of a pass reads, each with the ids that are read of it; None: all."""
    rows = item["rows"] or [None] * len(item["parts"])
    return [
        (part, None if ids is None else np.array(ids, np.int64)) for part, ids in zip(item["parts"], rows, strict=True)
    ]


def kept_tokens(record: RunReader) -> KeptTokens | None:
    """Return where ingest kept the tokens of the finished corpus; None where an earlier version kept none.

    Raises:
        InputError: there is no corpus.
    """
    corpus = record.require("ingest")
    return KeptTokens(TOKENS, corpus["fingerprint"]) if TOKENS in record.record["tables"] else None


def describe(facts: ModelFacts) -> dict[str, Any]:
    """Return what run.json says of a model; it has a `seed` where the weights are random."""
    return {
        "name": facts.name, "type": facts.model_type, "layers": facts.layers, "width": facts.width,
        "position_limit": facts.position_limit, "fingerprint": facts.fingerprint,
        **({} if facts.seed is None else {"seed": facts.seed}),
    }  # fmt: skip
