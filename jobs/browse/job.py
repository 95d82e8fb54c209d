"""Serve a finished run to a browser on this machine: the overview, every neuron on demand, and a search.

    python -m jobs.browse --out runs/small
    python -m jobs.browse --out s3://bucket/run --port 9000

Prints its address once it answers (in seconds; the first overview of a large run takes some more); Ctrl-C ends it.
Reads the tables that run.json names, also when they are made anew meanwhile, and writes nothing. Starts no Ray.
"""

from typing import ClassVar

from pydantic import Field

from jobs.stage.command_line import Job
from jobs.stage.options import JobConfig


class BrowseConfig(JobConfig):
    """Options of `browse`."""

    heading: ClassVar[tuple[int, str]] = (10, "What is served, and to whom")

    host: str = Field(
        "127.0.0.1", description="address to listen on; 127.0.0.1: this machine alone; 0.0.0.0: whoever reaches it"
    )
    port: int = Field(8000, ge=0, le=65_535, description="port; 0: a free one")
    winners: int = Field(50, ge=1, le=1_000, description="winners of a pole that a page lists")
    seconds: float = Field(30.0, gt=0, description="seconds that a search may take")


def run(config: BrowseConfig) -> None:
    """Serve until Ctrl-C."""
    from jobs.browse.server import serve

    serve(config.out, config.host, config.port, config.winners, config.seconds)


JOB = Job("browse", BrowseConfig, run, __doc__)
