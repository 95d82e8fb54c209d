from jobs.meaning.job import JOB

raise SystemExit(JOB.main())
