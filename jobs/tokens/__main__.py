from jobs.tokens.job import JOB

raise SystemExit(JOB.main())
