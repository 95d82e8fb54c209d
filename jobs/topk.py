"""Find every neuron's most activating sentences in one pass over the corpus.

    python -m jobs.topk --out runs/docs --preset small --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.topk --out s3://bucket/run --preset paper --model bert-base-uncased

Writes topk/, neurons/, activations/ and unscored/. With --corpus it reads the sources first (jobs.ingest).
"""

import json
import sys
import time
from collections.abc import Collection
from dataclasses import replace
from functools import partial as bind
from typing import Any, Literal

import numpy as np
from pydantic import Field

from jobs import _stream
from jobs._config import main
from jobs._engine import Item, fan_out
from jobs._merge import merge_ranges, write_activations, write_unscored
from jobs._partials import partial, pilot_file
from jobs._record import Run
from jobs._shards import PilotScorer, ScoreArgs, ShardWorker, read_shard
from jobs._sharing import Board
from jobs._stream import SideConfig
from jobs._times import Times
from ops.errors import InputError
from ops.model.activations import ScoreOptions, Scorer
from ops.model.load import ModelFacts
from ops.model.tokenizer import Tokenizer
from ops.sampling import ACTIVATIONS, draw
from ops.shards import Ids, Shards
from ops.storage.store import Store, is_whole
from ops.topk.neurons import Neurons

STAGE = "topk"
ATTEMPTS = 3  # at a shard whose partial file turns out damaged


class TopkConfig(SideConfig):
    """Options of `topk`, and those of `ingest` for when --corpus is given."""

    k: int = Field(100, ge=1, description="sentences kept for each neuron and pole")
    poles: Literal["top", "bottom", "both"] = Field("both", description="highest activations, lowest, or both")
    site: Literal["hidden", "mlp", "attention"] = Field(
        "hidden", description="hidden states, after the activation function, or after the attention's output matrix"
    )
    pool: Literal["mean", "max", "cls", "last"] = Field("mean", description="how a sentence's tokens become one value")
    special_tokens: Literal["include", "exclude"] = Field(
        "include", description="whether the tokens that the tokenizer added count"
    )
    activation_sample: int = Field(10_000, ge=0, description="sentences whose whole activation vectors are kept")
    no_sharing: bool = Field(False, description="workers do not share thresholds: same results, larger partial files")
    pilot: int = Field(4_096, ge=1, description="most sentences of the pilot that fixes the histograms' edges")


def run(config: TopkConfig) -> None:
    """Do the stage, or what is missing of it; first `ingest` where sources are named."""
    facts, tokenizer = prepare(config, Run(config.out))
    _stream.read_sources(config)
    score(config, facts, tokenizer, Run(config.out))


def prepare(config: TopkConfig, record: Run) -> tuple[ModelFacts, Tokenizer]:
    """Check options, sources and model, cheapest first, and return what is known of the model, and its tokenizer.

    Raises:
        InputError: something is missing or does not fit.
    """
    facts, tokenizer = _stream.prepare(config, record)
    check(config, facts, tokenizer)
    return facts, tokenizer


def check(config: TopkConfig, facts: ModelFacts, tokenizer: Tokenizer) -> None:
    """Refuse what cannot work, before anything heavy starts.

    Raises:
        InputError: options that exclude each other or do not fit the model.
    """
    if config.pool == "cls":
        if config.special_tokens == "exclude":
            raise InputError("--pool cls with --special-tokens exclude: leaves no token; choose one of the two")
        if facts.decoder:
            raise InputError(f"--pool cls: {config.model} is a decoder and has no [CLS]; use --pool last or mean")
        if not tokenizer.has_cls:
            raise InputError(f"--pool cls: the tokenizer of {config.model} puts no [CLS] first; use --pool mean")


def score(config: TopkConfig, facts: ModelFacts, tokenizer: Tokenizer, record: Run) -> None:
    """Score all shards, merge them and write the tables."""
    started, times = time.monotonic(), Times()
    corpus = _stream.require_corpus(config, tokenizer, record)
    place = _stream.choose_place(config)
    budget = place.token_budget
    names = ("k", "poles", "site", "pool", "special_tokens", "dtype", "activation_sample", "pilot", "seed")
    identity = {name: getattr(config, name) for name in names}
    fingerprint = _stream.begin(STAGE, config, facts, place, record, identity)
    if fingerprint is None:
        return
    record.record["model"] = _stream.describe(facts)
    shards = Shards(corpus["counts"]["sentences"], corpus["config"]["shard_size"])
    scoring = ScoreOptions(config.site, config.pool, config.special_tokens, place.device, config.dtype, config.threads)
    poles = ("top", "bottom") if config.poles == "both" else (config.poles,)
    k = min(config.k, shards.sentences)
    args = ScoreArgs(config.out, facts, scoring, k, poles, budget, fingerprint, not config.no_sharing)
    Scorer(facts, scoring._replace(device="cpu", dtype="float32"))
    check_room(record, facts, config, shards)

    if not is_whole(record.store, pilot_file(), fingerprint, "pilot"):
        sample = {"sentences": shards.sentences, "size": shards.size, "seed": config.seed, "pilot": config.pilot}
        print(f"{STAGE}: scoring a pilot for the histograms' edges", file=sys.stderr)
        with times.of("pilot"):
            list(fan_out([sample], PilotScorer, {"args": args}, workers=1, **place.holds))
    with record.store.parquet(pilot_file()) as file:
        widths = json.loads(file.schema_arrow.metadata[b"atlas.widths"])

    neurons, store = Neurons(tuple(widths)), record.store
    sampled = shards.split(draw(shards.sentences, config.activation_sample, config.seed, ACTIVATIONS))
    damaged: dict[int, str] = {}
    for _ in range(ATTEMPTS):
        times.count(score_missing(args, store, shards, sampled, config.seed, place, damaged))
        with times.of("merge"):
            counts = account(corpus["counts"], write_unscored(store, len(shards), fingerprint))
            damaged = merge_ranges(store, neurons, len(shards), k, poles, fingerprint, config.out, place.workers)
            if not damaged:
                counts["activation_sample"], damaged = write_activations(store, neurons, len(shards), fingerprint)
        if not damaged:
            break
        for shard, why in sorted(damaged.items()):
            print(f"{STAGE}: {partial(STAGE, shard)} is damaged ({why}): scoring it again", file=sys.stderr)
    else:
        raise RuntimeError(f"{STAGE}: {sorted(damaged)} came out damaged {ATTEMPTS} times; check the disk of --out")
    counts |= {"neurons": len(neurons), "layers": len(widths), "seconds": times.result()}
    print(f"{STAGE}: {times}", file=sys.stderr)
    record.finish(STAGE, counts, time.monotonic() - started)
    if not config.keep_partials:
        store.delete(f"_partials/{STAGE}")


def score_missing(
    args: ScoreArgs,
    store: Store,
    shards: Shards,
    sampled: list[Ids],
    seed: int,
    place: _stream.Place,
    damaged: Collection[int],
) -> list[Item]:
    """Score the shards whose partial files are missing, not whole or `damaged`, and return their workers' rows."""
    missing = _stream.missing(store, STAGE, args.fingerprint, shards, seed)
    missing += [i for i in damaged if i not in missing]
    items = [{"shard": i, "span": shards.span(i), "sample": sampled[i].tolist()} for i in missing]
    prepare = bind(read_shard, args=args) if place.device == "cuda" else None
    sharing = args.sharing and min(place.workers, len(items)) > 1
    board = Board(store, args.fingerprint, args.k) if sharing else None
    if board:
        board.add(set(range(len(shards))) - set(missing))
    make = {"args": replace(args, sharing=sharing)}
    rows = []
    for row in _stream.fan_out_shards(STAGE, items, shards, place, ShardWorker, make, prepare):
        rows.append(row)
        if board:
            board.add([row["shard"]])
    return rows


def account(corpus: dict[str, Any], unscored: list[int]) -> dict[str, Any]:
    """Count scored and unscored sentences of every source.

    Raises:
        InputError: not one sentence could be scored.
    """
    if len(unscored) == corpus["sentences"]:
        raise InputError("--model: gave no finite activation for any sentence; try --dtype float32, or another model")
    sources = []
    for source in corpus["sources"]:
        first, stop = source["first_sent_id"], source["first_sent_id"] + source["kept"]
        lost = int(np.searchsorted(unscored, stop) - np.searchsorted(unscored, first))
        names = {n: source[n] for n in ("source", "dataset", "kept")}
        sources.append({**names, "scored": source["kept"] - lost, "unscored": lost})
    return {"scored": corpus["sentences"] - len(unscored), "unscored": len(unscored), "sources": sources}


def check_room(record: Run, facts: ModelFacts, config: TopkConfig, shards: Shards) -> None:
    """Refuse to start where the local disk cannot hold the partial files.

    Raises:
        InputError: there is less room than an estimate of what is needed.
    """
    import shutil

    neurons = facts.layers * facts.width * (4 if config.site == "mlp" else 1)
    if neurons * min(config.k, shards.size) >= 1 << 31:
        raise InputError(
            f"--k {config.k}: {shards.size:,} sentences of a shard and {neurons:,} neurons may give over 2^31 "
            "candidates; lower --k or --shard-size"
        )
    if not record.store.local:
        return
    poles = 2 if config.poles == "both" else 1
    rounds = 1 + np.log(max(shards.sentences / config.k, 1))
    candidates = min(config.k * rounds * 3, shards.sentences) * neurons * poles * 8
    need = candidates + len(shards) * neurons * 256 + config.activation_sample * neurons * 8
    free = shutil.disk_usage(record.store.root).free
    if free < need:
        raise InputError(
            f"--out {config.out}: {free / 1e9:.1f} GB are free there and about {need / 1e9:.1f} GB are needed; "
            "make room, name another place, or lower --k"
        )


if __name__ == "__main__":
    sys.exit(main(TopkConfig, STAGE, str(__doc__).splitlines()[0], run))
