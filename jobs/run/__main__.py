from jobs.run.job import JOB

raise SystemExit(JOB.main())
