from jobs.report.job import JOB

raise SystemExit(JOB.main())
