"""`python -m jobs.train_english`."""

from jobs.train_english.job import JOB

raise SystemExit(JOB.main())
