"""`python -m jobs.mine`."""

import sys

from jobs.mine.job import JOB

if __name__ == "__main__":
    sys.exit(JOB.main())
