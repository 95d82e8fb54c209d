from jobs.finetune.job import JOB

raise SystemExit(JOB.main())
