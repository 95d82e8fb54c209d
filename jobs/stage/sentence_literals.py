"""The literals of the sentences with which all neurons are compared, found block by block for all neurons."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from jobs.engine.item import Item
from jobs.run_folder.stages import CODES
from jobs.stage.outputs import Noted, Output, notes_of, partial_file, read_partials
from jobs.stage.scored import StageArgs
from jobs.stage.step import Made
from ops.compare.activation_vectors import sampled_sentences
from ops.explain.explain import known_rows
from ops.literals.find import Literals
from ops.mine.mining import Mining
from ops.patterns.occurrences import Occurrences
from ops.sentences.local_copy import open_sentences
from ops.storage.arrays import read_arrays, write_arrays
from ops.storage.store import Store


@dataclass(frozen=True, kw_only=True)
class LiteralArgs(StageArgs):
    """The arguments of workers that use literals.

    Attributes:
        sentences: the fingerprint of the annotate stage, which identifies a machine's copy of the sentences.
        units: the neurons to look at; empty for all.
        mine: the options with which patterns were mined.
    """

    sentences: str
    units: tuple[str, ...]
    mine: dict[str, Any]

    def mining(self) -> Mining:
        """Return the annotated sentences in the form used for patterns, with words in lower case."""
        sentences = open_sentences(self.store, CODES, self.sentences)
        return Mining(sentences, self.neurons, {**self.mine, "word_case": "lower"}, self.seed)


def literals_file(job: str, item: Item) -> Output:
    """Return the file of the literals in a block of sentences."""
    return partial_file(job, "literals", item["block"])


class LiteralFinder:
    """Finds the literals in blocks of the sentences with which all neurons are compared."""

    def __init__(self, args: LiteralArgs, job: str, pool: Callable[[Store], pa.Table]) -> None:
        mining = args.mining()
        self.job, self.sentences = job, mining.sentences
        self.literals = Literals(pool(args.store), mining.text, mining.kinds, args.mine["nuisance"])
        self.known = known_rows(mining.sentences, sampled_sentences(args.store))

    def __call__(self, item: Item) -> Made:
        """Find the literals of one block."""
        rows = self.known[slice(*np.searchsorted(self.known, [item["first"], item["stop"]]))]
        notes = {"sentences": len(rows), "alone": self.sentences.documents == len(self.sentences.sent_id)}
        return {literals_file(self.job, item): Noted(write_arrays(**vars(self.literals.find(rows))), notes)}


def read_literals(store: Store, job: str, blocks: Iterable[Item]) -> Iterator[tuple[Occurrences, int]]:
    """Yield, for each block, which of its sentences have each literal, and how many sentences it has."""
    for table in read_partials(store, [literals_file(job, item) for item in blocks]):
        yield Occurrences(**read_arrays(table)), notes_of(table)["sentences"]
