"""Measures the cost of reading winners token by token relative to the forward pass, and prints one line of JSON.

    python -m bench tokens

The same sentences, each with the number of winners that it would have in a run of that size, go through the plain model
and through all steps of `jobs.tokens`: tokens with their spans, words, the pass with its hooks, peaks, the partial
file, and the tables. Times are processor time (user and system, one thread). Sentences come from the Parquet files of
the folder corpora/ below ATLAS_TEST_DATA if that is set, otherwise from docstrings. The exit status is 1 if a pooled
value differs or the target is missed.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from bench.steps import PRINT, commit
from bench.texts import draw
from jobs.stage.outputs import read_notes, read_partial
from jobs.stage.ranges import table_ranges
from jobs.tokens.steps import PieceReader, TokensArgs, select_sentences, write_range
from ops.model.activations import ScoreOptions, Scorer
from ops.model.batches import length_batches, pad
from ops.model.load import read_facts
from ops.model.tokenizer import Tokenizer
from ops.schema import schema
from ops.sentences.pipeline import Annotator
from ops.shards import Shards
from ops.storage.store import Store
from ops.storage.tables import write_part
from ops.topk.neurons import POLES, Neurons

TARGET, BUDGET = 1.15, 2_048


def main() -> int:
    """Run the benchmark and print its line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="sample")
    parser.add_argument("--sentences", type=int, default=1_000)
    parser.add_argument("--top", type=int, default=20)
    parser.add_argument(
        "--of", type=int, default=5_000, help="sentences of the run whose winners are as dense as these"
    )
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="accepted by all benchmarks; this one always prints JSON")
    options = parser.parse_args()
    facts = read_facts(options.model)
    tokenizer = Tokenizer(facts)
    scorer = Scorer(facts, ScoreOptions(), tokenizer.pad_id)
    neurons = Neurons(scorer.widths())
    texts = draw(options.sentences, options.seed)
    tokens = tokenizer.encode(texts)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        values = np.concatenate([torch.cat(scorer.score([t]), 1).numpy() for t in tokens])
        each = max(round(options.top * options.sentences / options.of), 1)
        write_run(store, texts, values, neurons, each)
        shards = Shards(len(texts), len(texts))
        args = TokensArgs(
            store=store, neurons=neurons, seed=options.seed, facts=facts, options=ScoreOptions(), shards=shards,
            top=each, token_budget=BUDGET, lengths="mixed", dictionaries=(), block=None,
        )  # fmt: skip
        commit(store, select_sentences({}, args))
        own = np.unique(read_partial(store, args.wanted, ["sent_id"])["sent_id"].to_numpy())
        lengths = np.array([len(tokens[i].ids) for i in own])
        batches = [[tokens[own[row]] for row in rows] for rows in length_batches(lengths, BUDGET)]

        def forward() -> None:
            with torch.inference_mode():
                for batch in batches:
                    ids, real, _ = pad(batch, tokenizer.pad_id, torch.device("cpu"))
                    scorer.reader.model(input_ids=ids, attention_mask=real.long())

        reader, file = PieceReader(args), args.piece_file(0)

        def ours() -> None:
            commit(store, reader({"piece": 0, "shard": 0, "first": 0, "last": len(texts) - 1}, None))
            for item in table_ranges(len(neurons)):
                commit(store, write_range(item, args, [file.path]))

        seconds: dict[str, list[float]] = {"forward": [], "ours": []}
        for round_ in range(options.repeats + 1):
            for name, run in (("forward", forward), ("ours", ours)):
                started = time.process_time()
                run()
                if round_:
                    seconds[name].append(time.process_time() - started)
        (notes,) = read_notes(store, [file])
    ratio = statistics.median(o / f for o, f in zip(seconds["ours"], seconds["forward"], strict=True))
    result: dict[str, Any] = {
        "model": options.model,
        "sentences": notes["sentences"],
        "tokens": notes["tokens"],
        "winners": notes["winners"],
        "forward_cpu_s": round(statistics.median(seconds["forward"]), 3),
        "ours_cpu_s": round(statistics.median(seconds["ours"]), 3),
        "ours_over_forward": round(ratio, 3),
        "largest_difference": notes["largest_difference"],
        "values_agree": notes["activations_differ"] == 0 and notes["sentences"] == len(own),
        "target_met": ratio <= TARGET,
    }
    print(json.dumps({"bench": "tokens", **result}))
    return 0 if result["values_agree"] and result["target_met"] else 1


def write_run(store: Store, texts: list[str], values: Any, neurons: Neurons, top: int) -> None:
    """Write the tables of a run of these sentences that `tokens` reads: topk/ up to rank `top`, and sentences/."""
    annotations = Annotator("english").annotate(texts)
    n = len(texts)
    columns = {
        "sent_id": np.arange(n), "text": texts, "dataset": ["d"] * n, "doc_id": ["d"] * n,
        "words": [a.words for a in annotations], "tags": [a.tags for a in annotations],
        "tree": [a.tree for a in annotations],
        "is_baseline": [True] * n, "is_winner": [True] * n, "fold": [0] * n, "wins": [1] * n,
    }  # fmt: skip
    write_part(store, "sentences", 0, schema("sentences"), [pa.table(columns)], PRINT)
    layer, unit = neurons.layer_and_unit(np.arange(len(neurons)))
    best = {"top": np.argsort(-values, axis=0)[:top].T, "bottom": np.argsort(values, axis=0)[:top].T}
    ids = np.stack([best[pole] for pole in POLES], 1)  # [neurons, poles, top]
    neuron = np.broadcast_to(np.arange(len(neurons))[:, None, None], ids.shape)
    table = pa.table(
        {
            "layer": layer[neuron.ravel()],
            "unit": unit[neuron.ravel()],
            "pole": np.broadcast_to(np.array(POLES, object)[None, :, None], ids.shape).ravel(),
            "rank": np.broadcast_to(np.arange(1, top + 1), ids.shape).ravel(),
            "activation": values[ids.ravel(), neuron.ravel()],
            "sent_id": ids.ravel(),
        }
    )
    write_part(store, "topk", 0, schema("topk"), [table.cast(schema("topk"))], PRINT)


if __name__ == "__main__":
    sys.exit(main())
