"""The values of columns of `outputs`' tables, for those who write them and those who show them."""

PROMOTED, SUPPRESSED = "promoted", "suppressed"
SIDES = (PROMOTED, SUPPRESSED)
SHOWN = 20  # tokens of a unit and side
MEASURES = ("kurtosis", "extreme")
UNITS, RANDOM = "units", "random"
