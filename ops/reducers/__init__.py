"""What is kept of a stream of values, in bounded memory: empty, update, merge, result."""
