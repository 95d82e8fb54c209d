"""`python -m jobs.respond`."""

from jobs.respond.job import JOB

raise SystemExit(JOB.main())
