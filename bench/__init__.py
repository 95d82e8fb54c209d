"""Speed as ratios measured in one run, with the counts checked."""
