"""Where the partial files of a pass over the corpus lie."""


def partial(stage: str, number: int) -> str:
    """Return the path of the partial file of a shard, or of a group of shards."""
    return f"_partials/{stage}/shard-{number:05d}.parquet"


def pilot_file() -> str:
    """Return the path of the file that holds the histograms' edges."""
    return "_partials/topk/pilot.parquet"
