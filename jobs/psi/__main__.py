"""`python -m jobs.psi`."""

from jobs.psi.job import JOB

raise SystemExit(JOB.main())
