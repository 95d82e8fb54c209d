"""The files that `compare` has under way."""

from jobs.stage.layout import Output
from jobs.stage.stages import STAGES


def rotation_file(number: int) -> Output:
    """Return the file of the agreement of layers in a basis: 0 the model's own, the others rotated."""
    return Output(f"{STAGES['compare/dimensions'].partials}/run-{number:05d}.parquet", f"run-{number}")


def drawn_file(layer: int) -> Output:
    """Return the file of the sentences drawn from a layer's winners; of layer 0: from the whole corpus."""
    return Output(f"{STAGES['compare/diversity'].partials}/range-{layer:05d}.parquet", f"range-{layer}")


def curve_file(layer: int) -> Output:
    """Return the file of a layer's sums of squares by number of clusters."""
    return Output(f"{STAGES['compare/diversity'].partials}/run-{layer:05d}.parquet", f"run-{layer}")


def ablation_file(block: int) -> Output:
    """Return the file of what a block of neurons does when each is set to its mean."""
    return Output(f"{STAGES['compare/ablation'].partials}/range-{block:05d}.parquet", f"range-{block}")


def text_set_file(number: int) -> Output:
    """Return the file of the sentences of a text set."""
    return Output(f"{STAGES['compare/shift'].partials}/piece-{number:05d}.parquet", f"piece-{number}")


def distances_file(block: int, kind: str) -> Output:
    """Return one of the files of a block of sentences: the `neurons`' shifts, or the sentences' `distances`."""
    return Output(f"{STAGES['compare/shift'].partials}/shard-{block:05d}.{kind}.parquet", f"shard-{block}-{kind}")


def runs_file(kind: str) -> Output:
    """Return one of the files of two runs side by side: the `neurons`, or the sample's `distances`."""
    return Output(f"{STAGES['compare/shift'].partials}/union.{kind}.parquet", f"union-{kind}")
