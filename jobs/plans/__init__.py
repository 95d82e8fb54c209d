"""What each stage says of itself under `--dry-run`: what is missing, and what it would take by a timed sample."""
