"""Reducers: summaries of a stream of values in bounded memory, with an empty state, `update`, `merge` and a result.

The reducers `TopK`, `Histogram`, `GroupedSums` and `SharedBound` are created empty, and `update` changes them in place.
The reducers `Moments`, `GroupedMoments` and `Sums` are immutable: their methods return a new object.
"""
