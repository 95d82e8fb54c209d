"""The work itself: pure functions and small classes, one idea per file, free of Ray and of any command line."""
