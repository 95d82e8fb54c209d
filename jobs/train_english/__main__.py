from jobs.train_english.job import JOB

raise SystemExit(JOB.main())
