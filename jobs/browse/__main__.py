from jobs.browse.job import JOB

raise SystemExit(JOB.main())
