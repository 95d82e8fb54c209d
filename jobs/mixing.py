"""Measure how much attention mixes tokens and how much it preserves them, over the whole corpus.

    python -m jobs.mixing --out runs/docs --preset small --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.mixing --out s3://bkt/run --preset paper --model bert-base-uncased

Writes mixing/ratios, mixing/lengths, mixing/norms, mixing/figures and, with --per-token, mixing/tokens, after Kobayashi
2021. With --corpus it reads the sources first (jobs.ingest). Sequences are single sentences, or (--pack) consecutive
ones of a document within a shard, between one [CLS] and one [SEP]. Pre-LN decoders (gpt2) have the stages attn and
attn_res alone.

Expect: 1.3 times the forward pass alone, with `sample` 0.34 ms a token on one core (November 2026, `python -m bench
mixing`), so about 3 core-minutes for 20,000 sentences; a worker holds 1.2 GB. There the mean mixing ratio behind
LayerNorm is 20 to 33 % by layer.
"""

import sys
from dataclasses import dataclass
from functools import partial as bind
from typing import Any

import pyarrow as pa
from pydantic import Field

from jobs import _stream
from jobs._config import main
from jobs._engine import Item
from jobs._record import Run
from jobs._stream import Pass, SideConfig
from ops.attention_points import check_architecture
from ops.errors import InputError
from ops.mask_tokens import mask_tokens
from ops.mixing import STAGES
from ops.mixing_figures import draw_all
from ops.mixing_partial import TOKENS, merge_partials, rows_of, token_rows, write_partial
from ops.mixing_shard import Batches, MixingScorer, measure_shard
from ops.mixing_tables import length_rows, norm_rows, ratio_rows
from ops.model import ModelFacts
from ops.pack import Packed, pack
from ops.schema import schema
from ops.score_shard import encode_batches
from ops.storage import Store, shard_footer
from ops.tables import part_name, write_part
from ops.token_classes import TokenClasses
from ops.tokens import Tokenizer

STAGE = "mixing"


class MixingConfig(SideConfig):
    """Options of `mixing`, and those of `ingest` for when --corpus is given."""

    pack: int = Field(0, ge=0, description="most tokens of a sequence of consecutive sentences; 0: one sentence each")
    mask_rate: float = Field(0.12, ge=0, le=1, description="share of the tokens that are replaced by the mask token")
    per_token: bool = Field(False, description="write every token's ratios too (mixing/tokens)")


@dataclass(frozen=True)
class MixingArgs:
    """What every worker is made from."""

    out: str
    facts: ModelFacts
    fingerprint: str
    device: str
    dtype: str
    threads: int
    token_budget: int
    seed: int
    pack: int
    mask_rate: float
    per_token: bool


def run(config: MixingConfig) -> None:
    """Do the stage, or what is missing of it; first `ingest` where sources are named."""
    facts, tokenizer = _stream.prepare(config, Run(config.out))
    check(config, facts, tokenizer)
    _stream.read_sources(config)
    identity = {"pack": config.pack, "mask_rate": config.mask_rate, "per_token": config.per_token}
    job = _stream.start(STAGE, config, facts, tokenizer, identity)
    if job is None:
        return
    place, threads = job.place, job.place.threads or 1
    args = MixingArgs(
        config.out, facts, job.fingerprint, place.device, config.dtype, threads, place.token_budget,
        config.seed, config.pack, config.mask_rate, config.per_token,
    )  # fmt: skip
    prepare = bind(prepare_shard, args=args) if place.device == "cuda" else None
    job.each_shard(MixingWorker, {"args": args}, prepare)
    publish(job, facts)


def check(config: MixingConfig, facts: ModelFacts, tokenizer: Tokenizer) -> None:
    """Refuse what cannot work, before anything heavy starts.

    Raises:
        InputError: the architecture is not known, the model has no mask token, or sequences cannot be so long.
    """
    check_architecture(facts.model_type, facts.name)
    if config.mask_rate and tokenizer.mask_id is None:
        raise InputError(f"--mask-rate {config.mask_rate}: {config.model} has no mask token; give --mask-rate 0")
    if config.pack > facts.position_limit:
        raise InputError(
            f"--pack {config.pack}: {config.model} takes {facts.position_limit} tokens at most; give no more than these"
        )


def prepare_shard(item: Item, args: MixingArgs) -> tuple[dict[int, int], list[tuple[Any, Any]]]:
    """Read, pack, tokenize and mask one shard on cores of its own (with GPUs)."""
    tokenizer = Tokenizer(args.facts)
    packed = read_packed(Store(args.out), item["parts"], args.pack, tokenizer)
    return held(packed), list(sequences(packed, tokenizer, args))


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


def held(packed: Packed) -> dict[int, int]:
    """Give how many sentences each sequence holds, by its first."""
    return dict(zip(packed.first.tolist(), packed.sentences.tolist(), strict=True))


def sequences(packed: Packed, tokenizer: Tokenizer, args: MixingArgs) -> Batches:
    """Give the batches of a shard, masked."""
    special = (tokenizer.cls_id, tokenizer.sep_id, tokenizer.mask_id, tokenizer.pad_id)
    spared = frozenset(i for i in special if i is not None) - {tokenizer.unknown_id}
    for first, batch in encode_batches(packed.first, packed.texts, packed.n_tokens, tokenizer, args.token_budget):
        if args.mask_rate and tokenizer.mask_id is not None:
            rate, mask, seed = args.mask_rate, tokenizer.mask_id, args.seed
            batch = [
                mask_tokens(tokens, rate, mask, spared, seed, sent_id, args.pack > 0)
                for tokens, sent_id in zip(batch, first.tolist(), strict=True)
            ]
        yield first, batch


class MixingWorker:
    """Measures shard after shard and commits each one's partial file, and its part of mixing/tokens before."""

    def __init__(self, args: MixingArgs) -> None:
        self.args, self.store = args, Store(args.out)
        self.tokenizer = Tokenizer(args.facts)
        self.classes = TokenClasses(self.tokenizer)
        self.scorer = MixingScorer(args.facts, args.device, args.dtype, args.threads, self.tokenizer.pad_id)

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Measure one shard."""
        args, number = self.args, item["shard"]
        if prepared is None:
            packed = read_packed(self.store, item["parts"], args.pack, self.tokenizer)
            sentences, batches = held(packed), sequences(packed, self.tokenizer, args)
        else:
            sentences, batches = prepared[0], iter(prepared[1])
        result = measure_shard(self.scorer, self.classes, batches, args.per_token)
        first, behind = item["span"]
        if sum(sentences.values()) != behind - first or result.scored + len(result.unscored) != len(sentences):
            raise RuntimeError(
                f"mixing: shard {number} holds {behind - first} sentences; {sum(sentences.values())} came in "
                f"{len(sentences)} sequences, {result.scored} were measured and {len(result.unscored)} not"
            )
        footer = shard_footer(args.fingerprint, f"shard-{number}", rows_of(result))
        if args.per_token:
            rows = token_rows(result, args.facts.layers, self.classes.strings)
            write_part(self.store, TOKENS, number, schema(TOKENS), rows, args.fingerprint)
        lost = {str(i): sentences[i] for i in sorted(result.unscored)}
        notes = {
            "quantities": self.scorer.names,
            "scored": behind - first - sum(lost.values()),
            "sequences": len(sentences),
            "tokens": result.tokens,
            "masked": result.masked,
            "truncated": result.cut,
            "unscored": lost,
        }
        self.store.commit(_stream.partial(STAGE, number), lambda path: write_partial(path, result, notes, footer))
        return {"sentences": behind - first}


def publish(job: Pass, facts: ModelFacts) -> None:
    """Merge the shards in their order, write the tables, draw the figures from them, and record the counts."""
    store = job.record.store
    totals, notes = merge_partials(store, job.partials)
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
            write_part(store, name, 0, schema(name), [table], job.fingerprint)
        counts["figures"] = draw_all(store, tables, facts.name)
    counts |= {"stages": [n for n in names if n in STAGES], "unscored_sequences": list(lost)[:100]}
    job.finish(sum(note["scored"] for note in notes), sum(lost.values()), counts)


if __name__ == "__main__":
    sys.exit(main(MixingConfig, STAGE, str(__doc__).splitlines()[0], run))
