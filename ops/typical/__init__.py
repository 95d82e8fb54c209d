"""What winners have more often than sentences of their data sets and lengths."""
