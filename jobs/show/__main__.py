"""`python -m jobs.show`."""

import sys

from jobs.show.job import JOB

if __name__ == "__main__":
    sys.exit(JOB.main())
