"""What every stage shares: its options, its record, where its files lie, and the life cycle of its steps."""
