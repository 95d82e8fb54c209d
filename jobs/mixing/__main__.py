"""`python -m jobs.mixing`."""

import sys

from jobs.mixing.job import JOB

if __name__ == "__main__":
    sys.exit(JOB.main())
