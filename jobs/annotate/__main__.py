"""`python -m jobs.annotate`."""

import sys

from jobs.annotate.job import JOB

if __name__ == "__main__":
    sys.exit(JOB.main())
