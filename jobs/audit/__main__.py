from jobs.audit.job import JOB

raise SystemExit(JOB.main())
