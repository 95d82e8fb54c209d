"""`python -m jobs.tokens`."""

import sys

from jobs.tokens.job import JOB

if __name__ == "__main__":
    sys.exit(JOB.main())
