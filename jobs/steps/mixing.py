"""The step of `mixing`: every shard is measured, and the shards together become the tables."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from jobs.engine.item import Item
from jobs.stage.corpus_pass import CorpusPass, PassArgs
from jobs.stage.layout import shard_file
from jobs.stage.step import Step
from ops.mixing.decomposition import LAYER_STAGES
from ops.mixing.figures import draw_all
from ops.mixing.pack import Packed, pack
from ops.mixing.partial_file import TOKENS, merge_partials, rows_of, token_rows, write_partial
from ops.mixing.shard import Batches, MixingScorer, measure_shard
from ops.mixing.tables import length_rows, norm_rows, ratio_rows
from ops.mixing.token_classes import TokenClasses
from ops.model.batches import batch_lengths, encode_batches
from ops.model.load import ModelFacts
from ops.model.mask_tokens import mask_tokens
from ops.model.token_block import TokenBlock
from ops.model.tokenizer import Tokenizer
from ops.schema import schema
from ops.storage.store import Store
from ops.storage.tables import part_name, write_part


@dataclass(frozen=True)
class MixingArgs(PassArgs):
    """What every worker is made from."""

    pack: int
    mask_rate: float
    per_token: bool


def measure_step(job: CorpusPass, args: MixingArgs) -> Step:
    """Return the step that measures the shards."""
    prepare = partial(prepare_shard, args=args) if job.placement.reads_ahead else None
    return job.shard_step(MixingWorker, {"args": args}, prepare)


def prepare_shard(item: Item, args: MixingArgs) -> tuple[dict[int, int], list[tuple[Any, Any]]]:
    """Read, pack, tokenize and mask one shard on cores of its own (with GPUs)."""
    tokenizer = Tokenizer(args.facts)
    packed = read_packed(args.store, item["parts"], args.pack, tokenizer)
    return packed.sentences_per_sequence(), list(sequences(packed, tokenizer, args))


def read_packed(store: Store, parts: list[int], limit: int, tokenizer: Tokenizer) -> Packed:
    """Read the sentences of a shard and pack them; a sequence never crosses a shard."""
    columns = ["sent_id", "text", "n_tokens", "dataset", "doc_id"]
    tables = []
    for part in parts:
        with store.parquet(part_name("corpus", part)) as file:
            tables.append(file.read(columns=columns))
    table = pa.concat_tables(tables)
    documents = list(zip(table["dataset"].to_pylist(), table["doc_id"].to_pylist(), strict=True))
    added = sum(tokenizer.encode(["a"])[0].added)
    sent_ids, n_tokens = table["sent_id"].to_numpy(), table["n_tokens"].to_numpy()
    return pack(sent_ids, table["text"].to_pylist(), n_tokens, documents, limit, added)


def sequences(packed: Packed, tokenizer: Tokenizer, args: MixingArgs) -> Batches:
    """Return the batches of a shard, masked."""
    lengths = batch_lengths(args.device)
    batches = encode_batches(packed.first, packed.texts, packed.n_tokens, tokenizer, args.token_budget, lengths)
    return masked(batches, tokenizer, args)


def masked(batches: Batches, tokenizer: Tokenizer, args: MixingArgs) -> Batches:
    """Return batches with some of their tokens replaced by the mask token."""
    special = (tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id, tokenizer.pad_id)
    spared = frozenset(i for i in special if i is not None) - {tokenizer.unknown_id}
    for first, batch in batches:
        if args.mask_rate and tokenizer.mask_id is not None:
            rate, mask, seed = args.mask_rate, tokenizer.mask_id, args.seed
            batch = [
                mask_tokens(tokens, rate, mask, spared, seed, sent_id, args.pack > 0)
                for tokens, sent_id in zip(batch, first.tolist(), strict=True)
            ]
        yield first, TokenBlock.of(batch)


class MixingWorker:
    """Measures shard after shard and commits each one's partial file, and its part of mixing/tokens before."""

    def __init__(self, args: MixingArgs) -> None:
        self.args, self.store = args, args.store
        self.tokenizer = Tokenizer(args.facts)
        self.classes = TokenClasses(self.tokenizer)
        self.scorer = MixingScorer(args.facts, args.device, args.dtype, args.threads, self.tokenizer.pad_id)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Measure one shard."""
        args, number = self.args, item["shard"]
        if prepared is None:
            packed = read_packed(self.store, item["parts"], args.pack, self.tokenizer)
            sentences, batches = packed.sentences_per_sequence(), sequences(packed, self.tokenizer, args)
        else:
            sentences, batches = prepared[0], iter(prepared[1])
        result = measure_shard(self.scorer, self.classes, batches, args.per_token)
        first, stop = item["span"]
        if sum(sentences.values()) != stop - first or result.scored + len(result.unscored) != len(sentences):
            raise RuntimeError(
                f"mixing: shard {number} holds {stop - first} sentences; {sum(sentences.values())} came in "
                f"{len(sentences)} sequences, {result.scored} were measured and {len(result.unscored)} not"
            )
        if args.per_token:
            # Streamed: the rows of a shard may be more than its worker holds. The sums say that they are there.
            rows = token_rows(result, args.facts.layers, self.classes.strings)
            write_part(self.store, TOKENS, number, schema(TOKENS), rows, args.fingerprint)
        lost = {str(i): sentences[i] for i in sorted(result.unscored)}
        notes = {
            "quantities": self.scorer.names,
            "scored": stop - first - sum(lost.values()),
            "sequences": len(sentences),
            "tokens": result.tokens,
            "masked": result.masked,
            "truncated": result.truncated,
            "unscored": lost,
        }
        output = shard_file("mixing", number)
        footer = output.footer(args.fingerprint, rows_of(result))
        self.store.commit(output.path, lambda path: write_partial(path, result, notes, footer))
        return {"sentences": stop - first}


def publish(job: CorpusPass, facts: ModelFacts) -> None:
    """Merge the shards in their order, write the tables, draw the figures from them, and record the counts."""
    store = job.stage.store
    totals, notes = merge_partials(store, [output.path for output in job.partials])
    names = tuple(notes[0]["quantities"])
    tables = {
        "mixing/ratios": ratio_rows(totals, facts.layers, names),
        "mixing/lengths": length_rows(totals, facts.layers, names),
        "mixing/norms": norm_rows(totals, facts.layers, names),
    }
    lost = {int(first): n for note in notes for first, n in note["unscored"].items()}
    counts: dict[str, Any] = {n: sum(note[n] for note in notes) for n in ("sequences", "tokens", "masked", "truncated")}
    if totals:
        for name, table in tables.items():
            write_part(store, name, 0, schema(name), [table], job.stage.fingerprint)
        counts["figures"] = draw_all(store, tables, facts.title)
    counts |= {"stages": [n for n in names if n in LAYER_STAGES], "unscored_sequences": list(lost)[:100]}
    job.finish(sum(note["scored"] for note in notes), sum(lost.values()), counts)
