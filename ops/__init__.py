"""The computations: pure functions and small classes, one idea per file, independent of Ray and command lines."""
