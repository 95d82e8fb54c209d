"""`python -m jobs.compare`."""

import sys

from jobs.compare.job import JOB

if __name__ == "__main__":
    sys.exit(JOB.main())
