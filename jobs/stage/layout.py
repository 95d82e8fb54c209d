"""Where everything of a run lies, what each stage writes, and which stage reads which.

Published tables lie in folders of their own, `<table>/part-00000.parquet`. What is under way lies below `_partials/`,
and the codes that mining reads below `_store/`: nobody's interface, and spelled nowhere but here.
"""

from dataclasses import dataclass

from ops.storage.store import Store, is_whole, shard_footer
from ops.storage.tables import part_name

PARTIALS = "_partials"
CODES = "_store"


@dataclass(frozen=True)
class StageFacts:
    """What is known of a stage before it runs.

    Attributes:
        tables: the folders that hold its results.
        reads: the stages whose results it reads itself.
        partials: the folder of what it has under way.
    """

    tables: tuple[str, ...]
    reads: tuple[str, ...]
    partials: str


# In the order of the picture. A stage `job/part` is a part of a job that is done or left out by itself.
STAGES: dict[str, StageFacts] = {
    "ingest": StageFacts(("corpus", "rejects"), (), f"{PARTIALS}/ingest"),
    "topk": StageFacts(("topk", "neurons", "activations", "unscored"), ("ingest",), f"{PARTIALS}/topk"),
    "annotate": StageFacts(("sentences", CODES), ("ingest", "topk"), f"{PARTIALS}/annotate"),
    "mine": StageFacts(("patterns", "profiles", "means", "scores"), ("topk", "annotate"), f"{PARTIALS}/mine"),
    "psi": StageFacts(
        ("psi/vocabulary", "psi/tokens", "psi/clusters", "psi/agreement", "psi/figures"),
        (),
        f"{PARTIALS}/psi/vocabulary",
    ),
    "psi/contextual": StageFacts(("psi/contextual",), ("ingest",), f"{PARTIALS}/psi/contextual"),
    "mixing": StageFacts(
        ("mixing/ratios", "mixing/lengths", "mixing/norms", "mixing/tokens", "mixing/figures"),
        ("ingest",),
        f"{PARTIALS}/mixing",
    ),
    "meaning/counts": StageFacts(("meaning/contexts", "meaning/words"), ("ingest",), f"{PARTIALS}/meaning/counts"),
    "meaning/offsets": StageFacts(
        ("meaning/neighbours", "meaning/analogies", "meaning/figures"),
        ("ingest", "meaning/counts"),
        f"{PARTIALS}/meaning/offsets",
    ),
    "meaning/confusion": StageFacts(
        ("meaning/confusion", "meaning/confusion_figures"), ("ingest",), f"{PARTIALS}/meaning/confusion"
    ),
}


def stages_read(stage: str) -> list[str]:
    """Return the stages that a stage's results follow from, directly or through others, in the order of the picture."""
    found = set(STAGES[stage].reads)
    for read in STAGES[stage].reads:
        found |= set(stages_read(read))
    return [name for name in STAGES if name in found]


def stages_after(stage: str) -> list[str]:
    """Return the stages whose results follow from this one's, directly or through others."""
    return [name for name in STAGES if stage in stages_read(name)]


@dataclass(frozen=True)
class Output:
    """A file that the worker of an item commits.

    Attributes:
        path: below the run's folder.
        name: what its footer says that it holds, so that a file is never taken for another.
    """

    path: str
    name: str

    def footer(self, fingerprint: str, rows: int) -> dict[bytes, bytes]:
        """Return the footer entries by which `is_whole` knows the file."""
        return shard_footer(fingerprint, self.name, rows)

    def is_whole(self, store: Store, fingerprint: str) -> bool:
        """Tell whether the file is in place, whole, and this stage's."""
        return is_whole(store, self.path, fingerprint, self.name)


def table_part(table: str, part: int, name: str) -> Output:
    """Return a part of a published table; `name` says what it holds."""
    return Output(part_name(table, part), name)


def shard_file(stage: str, shard: int) -> Output:
    """Return the partial file of a shard, or of a group of shards."""
    return Output(f"{STAGES[stage].partials}/shard-{shard:05d}.parquet", f"shard-{shard}")


# ingest


def piece_file(piece: int, kind: str) -> Output:
    """Return one of the files that a piece of a source is read into."""
    return Output(f"{STAGES['ingest'].partials}/piece-{piece:05d}.{kind}.parquet", f"piece-{piece}-{kind}")


def distinct_file(part: int, parts: int, kind: str) -> Output:
    """Return one of the files of a range of hashes: `texts` or `documents`."""
    return _ingest_file(f"distinct-{kind}-{part:05d}-of-{parts:05d}")


def signed_file(run: int, kind: str) -> Output:
    """Return one of the files of a run of positions: `signatures` or `bands`."""
    return _ingest_file(f"near-{kind}-{run:05d}")


def pairs_file(part: int, parts: int) -> Output:
    """Return the file of the pairs of sentences that share a range of bands' hashes."""
    return _ingest_file(f"near-pairs-{part:05d}-of-{parts:05d}")


def near_duplicates_file() -> Output:
    """Return the file that says of near-duplicates which one is kept."""
    return _ingest_file("near")


def _ingest_file(name: str) -> Output:
    return Output(f"{STAGES['ingest'].partials}/{name}.parquet", name)


# topk


def pilot_file() -> Output:
    """Return the file that holds the histograms' edges."""
    return Output(f"{STAGES['topk'].partials}/pilot.parquet", "pilot")


def bound_path() -> str:
    """Return the path of the bounds that workers share; it is soft state, and no output of any item."""
    return f"{STAGES['topk'].partials}/bound.parquet"


# annotate


def selected_path() -> str:
    """Return the path of the marks of all sentences, a byte each, that say which are to be annotated."""
    return f"{STAGES['annotate'].partials}/wanted.bin"


def codes_file(shard: int) -> Output:
    """Return the file of a shard's codes, which mining reads."""
    return Output(f"{CODES}/shard-{shard:05d}.parquet", f"shard-{shard}")


def vocabulary_path() -> str:
    """Return the path of the names of all codes."""
    return f"{CODES}/vocabulary.parquet"


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


# psi


def labels_file(run: int) -> Output:
    """Return the file of the clusters of one run of k-means."""
    return Output(f"{STAGES['psi'].partials}/run-{run:03d}.parquet", f"run-{run}")
