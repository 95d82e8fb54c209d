from jobs.ingest.job import JOB

raise SystemExit(JOB.main())
