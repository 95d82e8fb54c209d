from jobs.contrast.job import JOB

raise SystemExit(JOB.main())
