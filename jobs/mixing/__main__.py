from jobs.mixing.job import JOB

raise SystemExit(JOB.main())
