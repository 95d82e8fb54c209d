"""What a run would take, before it runs: sentences, seconds and bytes, from samples that are timed in memory."""
