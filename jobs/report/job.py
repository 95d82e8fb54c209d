"""Build a static site of a finished run: an overview, and a page for each of the best neurons.

    atlas report --out runs/small
    atlas report --out s3://bucket/run --best 100 --neurons 3:17 --neurons 11:309

Writes report/. Open report/index.html from disk in any browser; nothing is loaded from elsewhere. The folder can be
moved, and it is rebuilt each time. Token shading and peaks are shown if jobs.tokens has run, and figures if side jobs
have. Does not start Ray.
"""

from jobs.options.configs import JobConfig, Texts, option
from jobs.stage.main import Job


class ReportConfig(JobConfig):
    """Options of `report`."""

    heading = (10, "Report")

    best: int = option(24, "Write pages for this many neurons: the best of each family, then by excess score", ge=0)
    neurons: Texts = option((), "Also write a page for this neuron, LAYER:UNIT; repeatable")
    winners: int = option(50, "List this many winners per pole on a page", ge=1)


JOB = Job("report", ReportConfig, "jobs.report.build:report", __doc__)
