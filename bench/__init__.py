"""Benchmarks, which report speeds as ratios measured in one execution and check all counts."""
