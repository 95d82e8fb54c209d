"""Serve a finished run to a web browser: the overview, every neuron, and a search.

    atlas browse --out runs/small
    atlas browse --out s3://bucket/run --port 9000

Prints its address once it answers, which takes seconds; the first overview of a large run takes a little longer. Ctrl-C
ends it. Reads the tables that run.json names, reopens them when they are rebuilt, and writes nothing. Does not start
Ray.
"""

from typing import ClassVar

from pydantic import Field

from jobs.options.configs import JobConfig
from jobs.stage.main import Job


class BrowseConfig(JobConfig):
    """Options of `browse`."""

    heading: ClassVar[tuple[int, str]] = (10, "Server")

    host: str = Field(
        "127.0.0.1",
        description="Listen on this address; 127.0.0.1: this machine only; 0.0.0.0: anyone who can reach it",
    )
    port: int = Field(8000, ge=0, le=65_535, description="Listen on this port; 0: any free port")
    allow_host: tuple[str, ...] = Field(
        (), description="Also answer requests to this host name, such as a proxy's; repeat for several"
    )
    winners: int = Field(50, ge=1, le=1_000, description="List this many winners per pole on a page")
    seconds: float = Field(30.0, gt=0, description="Stop a search after this many seconds")


JOB = Job("browse", BrowseConfig, "jobs.browse.server:browse", __doc__)
