"""What is kept of a stream of values, in bounded memory: empty, update, merge, result.

What is changed in place (`TopK`, `Histogram`, `TokenSums`, `SharedBound`) is empty as made, and takes values in by
`update`; what is a value (`Moments`, `TokenMoments`, `Sums`) gives a new one.
"""
