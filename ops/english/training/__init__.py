"""Training of the English pipeline that is included in the project, and tests on treebanks."""
