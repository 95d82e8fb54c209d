"""`python -m jobs.meaning`."""

from jobs.meaning.job import JOB

raise SystemExit(JOB.main())
