"""Estimates of a run before it starts: sentences, seconds and bytes, from samples that are timed in memory."""
