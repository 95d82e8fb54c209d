from jobs.positions.job import JOB

raise SystemExit(JOB.main())
