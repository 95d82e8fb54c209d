"""Code that all stages share: options, the record, the places of files, and the life cycle of steps."""
