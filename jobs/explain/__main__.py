from jobs.explain.job import JOB

raise SystemExit(JOB.main())
