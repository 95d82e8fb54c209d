from jobs.mine.job import JOB

raise SystemExit(JOB.main())
