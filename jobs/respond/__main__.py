from jobs.respond.job import JOB

raise SystemExit(JOB.main())
