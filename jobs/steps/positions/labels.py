"""The texts of the label check of `positions`: drawn and read from corpus/ before anything heavy starts."""

from jobs.stage.run import Run
from ops.corpus.read_shard import read_rows
from ops.positions.labels import Labelled, check_labels
from ops.sampling import LABELS, draw
from ops.shards import Shards


def read_labels(record: Run, column: str | None, size: int, seed: int) -> Labelled | None:
    """Return the texts of a seeded uniform sample that have a label; None where none is asked for.

    Raises:
        InputError: no classifier can be fitted to them.
    """
    if column is None or not record.has_corpus:
        return None
    corpus = record.require("ingest")
    shards = Shards(corpus["counts"]["sentences"], corpus["config"]["shard_size"])
    found = Labelled([], [], [])
    drawn = draw(shards.sentences, size, seed, LABELS)
    for table in read_rows(record.store, shards, drawn, ["sent_id", "dataset", "doc_id", "meta"]):
        for row in table.to_pylist():
            label = row["meta"][column]
            if label is not None:
                found.sent_ids.append(row["sent_id"])
                found.labels.append(label)
                found.documents.append(f"{row['dataset']}\x1f{row['doc_id']}")
    check_labels(column, found, seed)
    return found
