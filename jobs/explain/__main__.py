"""`python -m jobs.explain`."""

import sys

from jobs.explain.job import JOB

if __name__ == "__main__":
    sys.exit(JOB.main())
