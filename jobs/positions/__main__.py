"""`python -m jobs.positions`."""

from jobs.positions.job import JOB

raise SystemExit(JOB.main())
