"""The texts of the label check of `positions`: drawn and read from corpus/ before anything heavy starts."""

from jobs.stage.checks import no_such_column
from jobs.stage.dry_run import DryRun
from jobs.stage.run import Run
from ops.corpus.read_shard import read_rows
from ops.positions.labels import Labelled, check_labels
from ops.sampling import LABELS, draw
from ops.schema import meta_keys
from ops.shards import Shards
from ops.storage.tables import part_name


def has_corpus(record: Run) -> bool:
    """Tell whether corpus/ lies there to be read; under a dry run it may not be made yet."""
    return not isinstance(record, DryRun) or record.sample is None


def check_column(record: Run, flag: str, column: str | None) -> None:
    """Refuse a column that corpus/ does not have.

    Raises:
        InputError: it has none of that name.
    """
    if column is None or not has_corpus(record):
        return
    with record.store.parquet(part_name("corpus", 0)) as file:
        keys = meta_keys(file.schema_arrow)
    if column not in keys:
        raise no_such_column(flag, column, keys)


def read_labels(record: Run, column: str | None, size: int, seed: int) -> Labelled | None:
    """Return the texts of a seeded uniform sample that have a label; None where none is asked for.

    Raises:
        InputError: no classifier can be fitted to them.
    """
    if column is None or not has_corpus(record):
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
