"""The partial files of each job, until they lie in the jobs' own folders."""

from jobs.stage.files import Output, shard_file, table_part
from jobs.stage.stages import CODES, STAGES

__all__ = ["Output", "shard_file", "table_part"]


# ingest


def piece_file(piece: int, kind: str) -> Output:
    """Return one of the files that a piece of a source is read into."""
    return Output(f"{STAGES['ingest'].partials}/piece-{piece:05d}.{kind}.parquet", f"piece-{piece}-{kind}")


def distinct_file(part: int, parts: int, kind: str) -> Output:
    """Return one of the files of a range of hashes: `texts` or `documents`."""
    return _ingest_file(f"distinct-{kind}-{part:05d}-of-{parts:05d}")


def near_run_file(run: int, kind: str) -> Output:
    """Return one of the files of a run of positions: `signatures`, `bands`, `later` or `similar`."""
    return _ingest_file(f"near-{kind}-{run:05d}")


def pairs_file(part: int, parts: int) -> Output:
    """Return the file of the pairs of sentences that share a range of bands' hashes."""
    return _ingest_file(f"near-pairs-{part:05d}-of-{parts:05d}")


def near_duplicates_file() -> Output:
    """Return the file that says of near-duplicates which one is kept."""
    return _ingest_file("near")


def _ingest_file(name: str) -> Output:
    return Output(f"{STAGES['ingest'].partials}/{name}.parquet", name)


# positions


def pilot_file(stage: str) -> Output:
    """Return the file of the mean states that a pilot found."""
    return Output(f"{STAGES[stage].partials}/pilot.parquet", "pilot")


# annotate


def selected_path() -> str:
    """Return the path of the marks of all sentences, a byte each, that say which are to be annotated."""
    return f"{STAGES['annotate'].partials}/wanted.bin"


def codes_file(shard: int) -> Output:
    """Return the file of a shard's codes, which mining reads."""
    return Output(f"{CODES}/shard-{shard:05d}.parquet", f"shard-{shard}")


def vocabulary_file() -> Output:
    """Return the file of the names of all codes."""
    return Output(f"{CODES}/vocabulary.parquet", "vocabulary")


def places_file() -> Output:
    """Return the file of what each shard's codes are among all names."""
    return Output(f"{CODES}/vocabulary-places.parquet", "vocabulary-places")


# mine


def range_file(number: int) -> Output:
    """Return the file of the candidates of a range of neurons."""
    return _mine_file(f"range-{number:05d}", f"range-{number}")


def run_file(number: int) -> Output:
    """Return the file of the counts over a run of baseline sentences."""
    return _mine_file(f"run-{number:05d}", f"run-{number}")


def union_file() -> Output:
    """Return the file of all ranges' candidates, each once."""
    return _mine_file("union", "union")


def totals_file() -> Output:
    """Return the file of the counts over the whole baseline."""
    return _mine_file("totals", "totals")


def _mine_file(stem: str, name: str) -> Output:
    return Output(f"{STAGES['mine'].partials}/{stem}.parquet", name)


# tokens


def wanted_file() -> Output:
    """Return the file of the first winners of every neuron, by sentence."""
    return Output(f"{STAGES['tokens'].partials}/wanted.parquet", "wanted")


# psi


def labels_file(run: int) -> Output:
    """Return the file of the clusters of one run of k-means."""
    return Output(f"{STAGES['psi'].partials}/run-{run:03d}.parquet", f"run-{run}")
