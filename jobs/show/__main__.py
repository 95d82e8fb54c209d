from jobs.show.job import JOB

raise SystemExit(JOB.main())
