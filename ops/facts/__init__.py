"""Facts about a run and its neurons, read in one place for all that show them."""
