from jobs.annotate.job import JOB

raise SystemExit(JOB.main())
