"""`python -m jobs.audit`."""

import sys

from jobs.audit.job import JOB

if __name__ == "__main__":
    sys.exit(JOB.main())
