from jobs.psi.job import JOB

raise SystemExit(JOB.main())
