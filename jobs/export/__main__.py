from jobs.export.job import JOB

raise SystemExit(JOB.main())
