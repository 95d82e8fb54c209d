"""`python -m jobs.ingest`."""

import sys

from jobs.ingest.job import JOB

if __name__ == "__main__":
    sys.exit(JOB.main())
