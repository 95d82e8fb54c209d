"""`python -m jobs.explain`."""

from jobs.explain.job import JOB

raise SystemExit(JOB.main())
