"""Build a static site of a finished run: an overview, and a page for each of the best neurons.

    atlas report --out runs/small
    atlas report --out s3://bucket/run --best 100 --neurons 3:17 --neurons 11:309

Writes report/. Open report/index.html from disk in any browser; nothing is loaded from elsewhere. The folder can be
moved, and it is rebuilt each time. Token shading and peaks are shown if jobs.tokens has run, and figures if side jobs
have. Does not start Ray.
"""

from typing import ClassVar

from pydantic import Field

from jobs.options.configs import JobConfig, Texts
from jobs.stage.main import Job


class ReportConfig(JobConfig):
    """Options of `report`."""

    heading: ClassVar[tuple[int, str]] = (10, "Report")

    best: int = Field(
        24, ge=0, description="Write pages for this many neurons: the best of each family, then by excess score"
    )
    neurons: Texts = Field((), description="Also write a page for this neuron, LAYER:UNIT; repeatable")
    winners: int = Field(50, ge=1, description="List this many winners per pole on a page")


JOB = Job("report", ReportConfig, "jobs.report.build:report", __doc__)
