"""Options, as checked configs and as command lines; every `--help` imports this room, so nothing heavy is in it."""
