"""`python -m jobs.compare`."""

from jobs.compare.job import JOB

raise SystemExit(JOB.main())
