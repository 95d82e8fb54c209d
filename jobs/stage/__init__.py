"""What every stage shares: its options, its record, where its files are, and the life cycle of its steps."""
