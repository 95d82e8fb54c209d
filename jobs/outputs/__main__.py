from jobs.outputs.job import JOB

raise SystemExit(JOB.main())
