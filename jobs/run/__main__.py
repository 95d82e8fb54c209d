"""`python -m jobs.run`."""

from jobs.run.job import JOB

raise SystemExit(JOB.main())
