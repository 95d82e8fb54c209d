"""`python -m jobs.train_english`."""

import sys

from jobs.train_english.job import JOB

if __name__ == "__main__":
    sys.exit(JOB.main())
