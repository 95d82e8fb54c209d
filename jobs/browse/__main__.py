"""`python -m jobs.browse`."""

import sys

from jobs.browse.job import JOB

if __name__ == "__main__":
    sys.exit(JOB.main())
