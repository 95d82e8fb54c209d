"""`python -m jobs.topk`."""

import sys

from jobs.topk.job import JOB

if __name__ == "__main__":
    sys.exit(JOB.main())
