"""`python -m jobs.report`."""

import sys

from jobs.report.job import JOB

if __name__ == "__main__":
    sys.exit(JOB.main())
