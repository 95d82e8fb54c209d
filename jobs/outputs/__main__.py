"""`python -m jobs.outputs`."""

import sys

from jobs.outputs.job import JOB

if __name__ == "__main__":
    sys.exit(JOB.main())
