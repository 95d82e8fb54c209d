"""`python -m jobs.psi`."""

import sys

from jobs.psi.job import JOB

if __name__ == "__main__":
    sys.exit(JOB.main())
