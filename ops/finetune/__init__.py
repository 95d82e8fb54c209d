"""A classifier of documents on top of a transformer: its documents, their split, its training and evaluation."""
