"""A dataset folder for the hub: its files and its card, what it came from, and whose the texts are."""
