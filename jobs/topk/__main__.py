from jobs.topk.job import JOB

raise SystemExit(JOB.main())
