"""Where text comes from: a file for each format, each of which yields rows."""
