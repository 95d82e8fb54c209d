"""The partial files of topk, until they lie in its folder."""

from jobs.stage.files import Output, shard_file, table_part
from jobs.stage.stages import STAGES

__all__ = ["Output", "shard_file", "table_part"]


def pilot_file(stage: str = "topk") -> Output:
    """Return the file of what a pilot found: the histograms' edges, or of `positions` the mean states."""
    return Output(f"{STAGES[stage].partials}/pilot.parquet", "pilot")


def bound_path() -> str:
    """Return the path of the bounds that workers share; it is soft state, and no output of any item."""
    return f"{STAGES['topk'].partials}/bound.parquet"
