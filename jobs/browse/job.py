"""Serve a finished run to a web browser: the overview, every neuron, and a search.

    atlas browse --out runs/small
    atlas browse --out s3://bucket/run --port 9000

Prints its address once it answers, which takes seconds; the first overview of a large run takes a little longer. Ctrl-C
ends it. Reads the tables that run.json names, reopens them when they are rebuilt, and writes nothing. Does not start
Ray.
"""

from jobs.options.configs import JobConfig, option
from jobs.stage.main import Job


class BrowseConfig(JobConfig):
    """Options of `browse`."""

    heading = (10, "Server")

    host: str = option(
        "127.0.0.1", "Listen on this address; 127.0.0.1: this machine only; 0.0.0.0: anyone who can reach it"
    )
    port: int = option(8000, "Listen on this port; 0: any free port", ge=0, le=65_535)
    allow_host: tuple[str, ...] = option(
        (), "Also answer requests to this host name, such as a proxy's; repeat for several"
    )
    winners: int = option(50, "List this many winners per pole on a page", ge=1, le=1_000)
    seconds: float = option(30.0, "Stop a search after this many seconds", gt=0)


JOB = Job("browse", BrowseConfig, "jobs.browse.server:browse", __doc__)
