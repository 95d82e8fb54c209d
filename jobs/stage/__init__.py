"""Code that all stages share: a run and its `run.json`, the places of files, and the life cycle of steps."""
