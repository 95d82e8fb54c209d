"""Measures the cost of reading winners token by token relative to the forward pass.

    python -m bench tokens

The same real sentences, each with the number of winners that it would have in a run of that size, go through the plain
model and through all steps of `jobs.tokens`: tokens with their spans, words, the pass with its hooks, peaks, the
partial file, and the tables. Times are processor time (user and system, one thread). The exit status is 1 if a pooled
value differs or the target is missed.
"""

import numpy as np
import torch

from bench.harness import Result, temporary_folder
from bench.made_run import annotate, write_topk
from bench.resources import interleaved, median_processor, processor_ratio
from bench.running import commit
from bench.texts import BUDGET, draw, padded, read_plainly
from jobs.stage.outputs import read_notes, read_partial
from jobs.stage.ranges import table_ranges
from jobs.tokens.steps import WANTED, PieceReader, TokensArgs, piece_file, select_sentences, write_range
from ops.model.activations import ScoreOptions, Scorer
from ops.model.batches import length_batches
from ops.model.load import read_facts
from ops.model.tokenizer import Tokenizer
from ops.shards import Shards
from ops.storage.store import Store
from ops.topk.neurons import Neurons

TARGET = 1.15


def measure(
    model: str = "sample", sentences: int = 1_000, top: int = 20, of: int = 5_000, repeats: int = 3, seed: int = 0
) -> Result:
    """Time both ways.

    Args:
        model: one that jobs.tokens takes.
        sentences: number of sentences.
        top: winners of a neuron and pole that are read.
        of: sentences of the run whose winners are as dense as these.
        repeats: times that each way is measured, one after the other.
        seed: the seed of the draw of sentences.
    """
    facts = read_facts(model)
    tokenizer = Tokenizer(facts)
    scorer = Scorer(facts, ScoreOptions(), tokenizer.pad_id)
    neurons = Neurons(scorer.widths())
    texts = draw(sentences, seed)
    tokens = tokenizer.encode(texts)
    with temporary_folder() as folder:
        store = Store(str(folder))
        values = np.concatenate([torch.cat(scorer.score([t]), 1).numpy() for t in tokens])
        each = max(round(top * sentences / of), 1)
        annotate(store, sentences, seed)
        order = np.argsort(values, axis=0).T
        ids = np.stack([order[:, :each], np.argsort(-values, axis=0)[:each].T], 1)
        write_topk(store, neurons, ids, np.take_along_axis(values.T[:, None], ids, 2))
        args = TokensArgs(
            store=store, neurons=neurons, seed=seed, facts=facts, options=ScoreOptions(),
            shards=Shards(len(texts), len(texts)), top=each, token_budget=BUDGET, equal_lengths=False, dictionaries=(),
            block=None,
        )  # fmt: skip
        commit(store, select_sentences({}, args))
        own = np.unique(read_partial(store, WANTED, ["sent_id"])["sent_id"].to_numpy())
        lengths = np.array([len(tokens[i].ids) for i in own])
        rows = length_batches(lengths, BUDGET)
        inputs = padded(([tokens[own[row]] for row in some] for some in rows), tokenizer.pad_id)
        reader, file = PieceReader(args), piece_file({"piece": 0})

        def ours() -> None:
            commit(store, reader({"piece": 0, "shard": 0, "first": 0, "last": len(texts) - 1}, None))
            for item in table_ranges(len(neurons)):
                commit(store, write_range(item, args, [file.path]))

        ways = {"forward": lambda: read_plainly(scorer.reader.model, inputs), "ours": ours}
        seconds = interleaved(ways, repeats)
        (notes,) = read_notes(store, [file])
    ratio = processor_ratio(seconds["ours"], seconds["forward"])
    return {
        "model": model,
        "sentences": notes["sentences"],
        "tokens": notes["tokens"],
        "winners": notes["winners"],
        "forward_cpu_s": median_processor(seconds["forward"]),
        "ours_cpu_s": median_processor(seconds["ours"]),
        "ours_over_forward": round(ratio, 3),
        "largest_difference": notes["largest_difference"],
        "values_agree": notes["activations_differ"] == 0 and notes["sentences"] == len(own),
        "target_met": ratio <= TARGET,
    }
