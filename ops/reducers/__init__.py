"""Summaries of a stream of values, in bounded memory: empty, update, merge, result.

Reducers that change in place (`TopK`, `Histogram`, `TokenSums`, `SharedBound`) are created empty and have `update`.
Immutable ones (`Moments`, `TokenMoments`, `Sums`) return a new one instead.
"""
