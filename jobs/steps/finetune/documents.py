"""The documents of `finetune`: chosen by their labels, read from corpus/, split."""

from collections import Counter
from typing import Any

import pyarrow as pa

from jobs.engine.item import Item
from jobs.stage.files import write_partial
from jobs.stage.finetune_config import FinetuneConfig
from jobs.stage.layout import Output
from jobs.stage.run import Run
from jobs.steps.finetune.files import TrainingArgs
from jobs.steps.positions.labels import has_corpus
from ops.errors import InputError
from ops.finetune.documents import (
    TEST,
    TRAIN,
    Choice,
    Key,
    LabelledDocuments,
    choose_documents,
    first_of_each_text,
    shuffle_labels,
    split_sides,
)
from ops.schema import schema
from ops.storage.store import Store
from ops.storage.tables import read_parts, write_part


def choose(config: FinetuneConfig, record: Run) -> Choice | None:
    """Return the documents that take part, by data set, document and label alone; None where there is no corpus yet.

    Raises:
        InputError: their labels are nothing that a classifier could learn.
    """
    if not has_corpus(record):
        return None
    found = LabelledDocuments()
    for table in read_parts(record.store, "corpus", ["dataset", "doc_id", "meta"]):
        labels = table["meta"].combine_chunks().field(config.label)
        found.add(table["dataset"].to_pylist(), table["doc_id"].to_pylist(), labels.to_pylist())
    choice = choose_documents(
        found, config.label, config.drop_label, config.min_documents, config.documents, config.split_seed
    )
    return Choice(choice.labels, {**choice.left_out, "sentences without a label": found.without})


class DocumentsWorker:
    """Reads the chosen documents, drops those of a text that another has, and splits the others."""

    def __init__(self, args: TrainingArgs, output: Output) -> None:
        self.args, self.output = args, output

    def __call__(self, item: Item, prepared: Any) -> Item:
        """Commit finetune/train, finetune/test and, in place of a partial file, the documents themselves."""
        args = self.args
        sentences = read_sentences(args.store, args.labels)
        keys = list(dict.fromkeys(zip(sentences["dataset"], sentences["doc_id"], strict=True)))
        texts: dict[Key, list[tuple[int, str]]] = {key: [] for key in keys}
        for dataset, doc_id, place, text in zip(
            *(sentences[n] for n in ("dataset", "doc_id", "sent_in_doc", "text")), strict=True
        ):
            texts[dataset, doc_id].append((place, text))
        joined = [" ".join(text for _, text in sorted(texts[key])) for key in keys]
        kept = [i for i, first in enumerate(first_of_each_text(joined)) if first]
        labels = [args.labels[keys[i]] for i in kept]
        sides = split_sides(labels, args.test_share, args.split_seed)
        check_sides(labels, sides)
        train = [i for i, side in enumerate(sides) if side == TRAIN]
        taught = list(labels)
        if args.shuffle_labels:
            for i, label in zip(train, shuffle_labels([labels[i] for i in train], args.options.seed), strict=True):
                taught[i] = label
        self.write_split(sentences, {keys[i]: (side, own) for i, side, own in zip(kept, sides, taught, strict=True)})
        table = pa.table(
            {"text": pa.array([joined[i] for i in kept], pa.string()), "label": labels, "taught": taught, "side": sides}
        )
        write_partial(args.store, self.output, table, args.fingerprint)
        return {"copies": len(keys) - len(kept)}

    def write_split(self, sentences: dict[str, list[Any]], found: dict[Key, tuple[str, str]]) -> None:
        """Commit the sentences of either side; `found` has each document's side and its label in training."""
        names = ("sent_id", "text", "dataset", "doc_id")
        places = [found.get(key, ("", "")) for key in zip(sentences["dataset"], sentences["doc_id"], strict=True)]
        for side in (TRAIN, TEST):
            own = [i for i, (where, _) in enumerate(places) if where == side]
            columns: dict[str, list[Any]] = {name: [sentences[name][i] for i in own] for name in names}
            columns["label"] = [
                self.args.labels[key] for key in zip(columns["dataset"], columns["doc_id"], strict=True)
            ]
            if side == TRAIN:
                columns["trained_as"] = [places[i][1] for i in own]
            name = f"finetune/{side}"
            write_part(self.args.store, name, 0, schema(name), [pa.table(columns)], self.args.fingerprint)


def check_sides(labels: list[str], sides: list[str]) -> None:
    """Refuse documents of which, copies gone, one side holds none, or the training one label.

    Raises:
        InputError: it does.
    """
    counts = Counter(sides)
    taught = {label for label, side in zip(labels, sides, strict=True) if side == TRAIN}
    if len(taught) < 2 or not counts[TEST]:
        raise InputError(
            f"--label: once documents of one text are taken as one, {counts[TRAIN]:,} of {len(taught)} labels are left "
            f"to train on and {counts[TEST]:,} to test; a classifier needs two labels and a test; give more documents"
        )


def read_sentences(store: Store, labels: dict[Key, str]) -> dict[str, list[Any]]:
    """Return the sentences of documents, in the order of corpus/, a list for each column."""
    names = ("sent_id", "text", "dataset", "doc_id", "sent_in_doc")
    found: dict[str, list[Any]] = {name: [] for name in names}
    for table in read_parts(store, "corpus", [*names, "meta"]):
        keys = zip(table["dataset"].to_pylist(), table["doc_id"].to_pylist(), strict=True)
        chosen = table.filter(pa.array([key in labels for key in keys]))
        for name in names:
            found[name] += chosen[name].to_pylist()
    return found
