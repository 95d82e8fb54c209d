"""The partial files of each job, until they lie in the jobs' own folders."""

from jobs.stage.files import Output, shard_file, table_part
from jobs.stage.stages import STAGES

__all__ = ["Output", "shard_file", "table_part"]


# topk


def pilot_file(stage: str = "topk") -> Output:
    """Return the file of what a pilot found: the histograms' edges, or of `positions` the mean states."""
    return Output(f"{STAGES[stage].partials}/pilot.parquet", "pilot")


def bound_path() -> str:
    """Return the path of the bounds that workers share; it is soft state, and no output of any item."""
    return f"{STAGES['topk'].partials}/bound.parquet"


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
