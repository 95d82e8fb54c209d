"""`python -m jobs.export`."""

import sys

from jobs.export.job import JOB

if __name__ == "__main__":
    sys.exit(JOB.main())
