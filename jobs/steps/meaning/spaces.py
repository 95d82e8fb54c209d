"""The spaces of words that `meaning` compares: what the shards add up to, its tables and its figures."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from jobs.engine.progress import Progress
from jobs.stage.corpus_pass import CorpusPass
from jobs.steps.meaning.offsets import OffsetArgs, frequent_words
from jobs.steps.meaning.parts import say
from ops.errors import InputError
from ops.meaning.analogies import Analogies
from ops.meaning.figures import PAIRS, any_known, draw_all, known_pairs
from ops.meaning.offsets import Space, analogy_rows, make_space, neighbour_rows
from ops.meaning.word_states import WordSums, embedded
from ops.model.load import ModelFacts, load_model
from ops.model.tokenizer import Tokenizer
from ops.schema import group_rows, schema
from ops.storage.tables import write_part

NEIGHBOURS, ANALOGIES = "meaning/neighbours", "meaning/analogies"


def publish(job: CorpusPass, args: OffsetArgs, tokenizer: Tokenizer, questions: Analogies, most: int) -> None:
    """Merge the shards in their order, compare the words in every space, write the tables, and draw the figures."""
    store, facts = job.stage.store, args.facts
    words, vectors = frequent_words(args)
    sums, read, lost = WordSums(len(words), facts.layers * facts.width), 0, 0
    # One at a time: each may hold a gigabyte, and for that reason there are few.
    for output in job.partials:
        with store.parquet(output.path) as file:
            notes = json.loads(file.schema_arrow.metadata[b"atlas.notes"])
            sums.merge_table(file.read())
        read, lost = read + notes["read"], lost + len(notes["unscored"])
    if read != args.drawn:
        raise RuntimeError(f"meaning: {args.drawn} sentences were to be read, and {read} were")
    if read == lost:
        raise InputError("--model: gave no finite state for any sentence; try --dtype float32, or another model")
    names = ["counts", "embedding", *(f"layer:{i + 1}" for i in range(facts.layers))]
    rows: list[dict[str, Any]] = []
    shown: dict[str, dict[str, Any]] = {name: {} for name in PAIRS}

    def neighbours() -> Iterator[pa.Table]:
        table = load_model(facts, "cpu", "float32").get_input_embeddings().weight.detach()  # type: ignore[operator]
        with Progress("meaning: compare", len(names), "spaces", 0, None) as progress:
            for name in sorted(names):
                space = _space(name, words, vectors, sums, facts, table, tokenizer)
                rows.extend(analogy_rows(space, questions, args.case))
                for figure in PAIRS:
                    shown[figure][name] = (name, *known_pairs(space, figure, args.case))
                found = pa.table(neighbour_rows(space, most), schema=schema(NEIGHBOURS))
                step = group_rows(NEIGHBOURS)
                yield from (found.slice(first, step) for first in range(0, found.num_rows, step))
                progress.add()

    pairs = write_part(store, NEIGHBOURS, 0, schema(NEIGHBOURS), neighbours(), args.fingerprint)
    outcomes = pa.Table.from_pylist(rows, schema(ANALOGIES))
    write_part(store, ANALOGIES, 0, schema(ANALOGIES), [outcomes], args.fingerprint)
    ordered = {figure: [found[name] for name in names] for figure, found in shown.items()}
    figures = draw_all(store, ordered, rows, names, facts.title)
    if not any_known(rows):
        say("no question of the analogies has its four words among those compared: no figure of their accuracy")
    job.stage.finish(
        {
            "sentences": args.sentences, "read": read, "scored": read - lost, "unscored": lost, "words": len(words),
            "words_read": int((sums.count > 0).sum()), "neighbours": pairs,
            "questions": sum(map(len, questions.questions.values())), "spaces": names, "figures": figures,
        }
    )  # fmt: skip


def _space(
    name: str,
    words: list[str],
    vectors: np.ndarray,
    sums: WordSums,
    facts: ModelFacts,
    table: Any,
    tokenizer: Tokenizer,
) -> Space:
    if name == "counts":
        return make_space(name, words, vectors)
    if name == "embedding":
        return make_space(name, words, embedded(words, table, tokenizer))
    layer = int(name.removeprefix("layer:")) - 1
    here = slice(layer * facts.width, (layer + 1) * facts.width)
    means = sums.total[:, here] / np.maximum(sums.count, 1)[:, None]
    return make_space(name, words, means.astype(np.float32))
