"""Measure how much attention mixes tokens and how much it preserves them, over the whole corpus.

    python -m jobs.mixing --out runs/docs --preset small --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.mixing --out s3://bkt/run --preset paper --model bert-base-uncased

Writes mixing/ratios, mixing/lengths, mixing/norms, mixing/figures and, with --per-token, mixing/tokens, after Kobayashi
2021. With --corpus it reads the sources first (jobs.ingest). Sequences are single sentences, or (--pack) consecutive
ones of a document within a shard, between one [CLS] and one [SEP]. Pre-LN decoders (gpt2) have the stages attn and
attn_res alone.

Expect: 1.3 times the forward pass alone, with `sample` 0.34 ms a token on one core (November 2026, `python -m bench
mixing`), so about 3 core-minutes for 20,000 sentences; a worker holds 1.2 GB. There the mean mixing ratio after
LayerNorm is 20 to 33 % by layer.
"""

import sys
from functools import partial as bind
from typing import Any

from pydantic import Field

from jobs import _stream
from jobs._config import main
from jobs._mixing import STAGE, MixingArgs, MixingWorker, prepare_shard
from jobs._record import Run
from jobs._stream import Pass, SideConfig
from ops.errors import InputError
from ops.mixing.decomposition import STAGES
from ops.mixing.figures import draw_all
from ops.mixing.partial_file import merge_partials
from ops.mixing.tables import length_rows, norm_rows, ratio_rows
from ops.model.architectures import check_architecture
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.schema import schema
from ops.storage.tables import write_part


class MixingConfig(SideConfig):
    """Options of `mixing`, and those of `ingest` for when --corpus is given."""

    pack: int = Field(0, ge=0, description="most tokens of a sequence of consecutive sentences; 0: one sentence each")
    mask_rate: float = Field(0.12, ge=0, le=1, description="share of the tokens that are replaced by the mask token")
    per_token: bool = Field(False, description="write every token's ratios too (mixing/tokens)")


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
