"""`python -m jobs.meaning`."""

import sys

from jobs.meaning.job import JOB

if __name__ == "__main__":
    sys.exit(JOB.main())
