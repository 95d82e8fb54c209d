"""`python -m jobs.finetune`."""

import sys

from jobs.finetune.job import JOB

if __name__ == "__main__":
    sys.exit(JOB.main())
