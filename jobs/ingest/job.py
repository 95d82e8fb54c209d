"""Read text sources into numbered shards of distinct sentences.

    atlas ingest --out runs/docs --preset small --corpus pydocs --limit 5000
    ray job submit --working-dir . -- python -m jobs.ingest --out s3://bucket/run --corpus books='s3://bucket/books/*.parquet'

Writes corpus/ (one file per shard) and rejects/. Ids depend only on the sources, the seed and the options.

What to expect (two cores, November 2026): the packaged docstrings take 25 s, most of it for Ray's start and for reading
64,000 sentences to keep 5,000. JSONL that is already split is read at 12,300 to 36,900 lines per second (`python -m
bench ingest`). A worker uses 500 to 750 MB, regardless of the length of the corpus.
"""

from jobs.options.configs import CorpusConfig
from jobs.stage.main import Job


class IngestConfig(CorpusConfig):
    """Options of `ingest`."""

    required = ("out", "corpus")


JOB = Job("ingest", IngestConfig, "jobs.ingest.steps:ingest", __doc__)
