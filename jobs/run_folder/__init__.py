"""The folder of a run: its `run.json`, its tables and stages, and the lock that lets one job at a time change it."""
