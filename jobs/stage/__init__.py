"""Code that all stages share: the checks before them, the life cycle of their steps, their files, and their plans."""
