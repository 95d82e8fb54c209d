"""Writes tables of a run without running the jobs: annotated real sentences, and winners of a few neurons."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from bench.running import PRINT, by_name, commit
from bench.texts import draw
from jobs.annotate.steps import list_names, shard_files
from jobs.engine.item import Item
from jobs.mine.job import MINE_OPTIONS, MineConfig
from jobs.mine.steps import MineArgs, steps_of
from jobs.run_folder.stages import CODES
from jobs.stage.scored import Scored
from jobs.stage.step import Step
from ops.arrays import Float64s, Integers
from ops.schema import schema
from ops.sentences.codes import sentence_table
from ops.sentences.local_copy import open_sentences
from ops.sentences.pipeline import SHIPPED, Annotator
from ops.sentences.store import SentenceStore
from ops.storage.store import Store
from ops.storage.tables import write_part
from ops.topk.neurons import POLES, Neurons

WIDTHS = (768,) * 12


def annotate(store: Store, count: int, seed: int, datasets: Sequence[str] = ()) -> None:
    """Write real sentences in the form in which `annotate` writes them; every second sentence is in the baseline.

    Documents of ten sentences belong to the data sets in turn. If no data sets are given, every third sentence belongs
    to another data set than the rest.
    """
    texts = draw(count, seed)
    ids = np.arange(len(texts))
    named = np.array(datasets)[ids // 10 % len(datasets)] if datasets else np.where(ids % 3 == 0, "news", "docs")
    documents = [f"d{i // 10}" for i in ids]
    corpus = pa.table({"sent_id": ids, "text": texts, "dataset": pa.array(named), "doc_id": documents})
    annotations = Annotator(SHIPPED).annotate(texts)
    table = sentence_table(corpus, annotations, ids % 2 == 0, np.ones(len(ids), np.int32), seed)
    commit(store, shard_files({"shard": 0}, table))
    commit(store, list_names({}, store, 1))


def write_likely_winners(store: Store, k: int, neurons: int, seed: int) -> None:
    """Write the first neurons' part of `topk/`, and `neurons/`.

    Winners are the sentences that are most similar, or least, to a random direction of the neuron.
    """
    write_neurons(store, Neurons(WIDTHS))
    sentences, rng = open_sentences(store, CODES, PRINT), np.random.default_rng([seed, k])
    likeness = Likeness(sentences)
    orders = [np.argsort(likeness.draw(rng), kind="stable") for _ in range(neurons)]
    rows = np.array([[order[:k], order[::-1][:k]] for order in orders])
    write_topk(store, Neurons(WIDTHS), np.asarray(sentences.sent_id)[rows])


def write_topk(store: Store, neurons: Neurons, ids: Integers, activations: Any = 0.0) -> None:
    """Write the first part of `topk/`.

    Args:
        store: the run's folder.
        neurons: all neurons.
        ids: the winners of the first neurons, in the order of their ranks, `[neurons, poles, winners]`.
        activations: their activations, of the same shape or of one that is spread to it.
    """
    layer, unit = (x[:, None, None] for x in neurons.layer_and_unit(np.arange(len(ids))))
    columns = (layer, unit, np.arange(len(POLES))[None, :, None], 1 + np.arange(ids.shape[2]), activations, ids)
    layout = schema("topk")
    table = {name: np.broadcast_to(own, ids.shape).ravel() for name, own in zip(layout.names, columns, strict=True)}
    table["pole"] = pa.array(POLES).take(pa.array(table["pole"]))
    write_part(store, "topk", 0, layout, [pa.table(table).cast(layout)], PRINT)


def write_neurons(store: Store, neurons: Neurons) -> None:
    """Write the columns of `neurons/` that tell which neurons are silent; none is."""
    layer, unit = neurons.layer_and_unit(np.arange(len(neurons)))
    table = pa.table({"layer": layer, "unit": unit, "is_silent": np.zeros(len(neurons), np.bool_)})
    write_part(store, "neurons", 0, table.schema, [table], PRINT)


class Likeness:
    """Similarities of sentences to random directions: mean random weights of their words and tags, plus noise."""

    def __init__(self, sentences: SentenceStore) -> None:
        rows = np.arange(len(sentences.sent_id))
        self._shares = []  # of each sentence's items, `[sentences, names]`
        for items, names in ((sentences.words(rows), "word"), (sentences.tags(rows), "tag")):
            share = np.repeat(1 / np.maximum(items.lengths, 1), items.lengths)
            shape = len(rows), len(sentences.names[names])
            self._shares.append(csr_array((share, items.items, items.offsets), shape))

    def draw(self, rng: np.random.Generator) -> Float64s:
        """Draw a direction and return the similarity of each sentence to it, `[sentences]`."""
        found: Float64s = rng.normal(0, 0.1, self._shares[0].shape[0])
        for share in self._shares:
            found += share @ rng.normal(size=share.shape[1])
        return found


def mining_options(**changes: Any) -> dict[str, Any]:
    """Return the options of `jobs.mine`: the defaults, except for the changes."""
    every = MineConfig.model_validate({"out": "-"}).model_dump(mode="json")
    return {name: every[name] for name in MINE_OPTIONS} | changes


def mine_args(store: Store, seed: int, **changes: Any) -> MineArgs:
    """Return the arguments of mining's workers, with these changes to the options."""
    options = mining_options(**changes)
    return MineArgs(store=store, neurons=Neurons(WIDTHS), seed=seed, sentences=PRINT, options=options)


def mine_steps(args: MineArgs, ranges: list[Item], blocks: list[Item], k: int) -> dict[str, Step]:
    """Return the steps of `mine` by name; K and the poles of what was scored serve only to estimate the time."""
    return by_name(steps_of(args, ranges, blocks, Scored({"k": k, "poles": "both"}, {"scored": k}, {}, args.neurons)))
