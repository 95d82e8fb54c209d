"""From rows to distinct, numbered sentences."""
