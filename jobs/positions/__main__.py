"""`python -m jobs.positions`."""

import sys

from jobs.positions.job import JOB

if __name__ == "__main__":
    sys.exit(JOB.main())
