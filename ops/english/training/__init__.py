"""Training the English pipeline that comes with the project, and testing it on treebanks."""
