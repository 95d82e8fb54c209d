"""`python -m jobs.run`."""

import sys

from jobs.run.job import JOB

if __name__ == "__main__":
    sys.exit(JOB.main())
