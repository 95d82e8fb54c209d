from jobs.compare.job import JOB

raise SystemExit(JOB.main())
