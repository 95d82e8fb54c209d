"""Runs benchmarks: `python -m bench NAME` or `python -m bench all`; all except `projection` print one line of JSON."""

import importlib
import sys

NAMES = (
    "audit",
    "browse",
    "calibration",
    "compare",
    "dictionary",
    "english",
    "explain",
    "ingest",
    "mine",
    "mining",
    "mixing",
    "meaning",
    "positions",
    "psi",
    "sharing",
    "reducer",
    "dtype",
    "growth",
    "partial_file",
    "end_to_end",
    "plain_script",
    "projection",
    "scale",
    "storage",
    "tokens",
)
NOT_IN_ALL = ("gpu", "bases", "search")  # `gpu` needs a GPU, the others need finished runs


def main() -> int:
    """Run the named benchmark, or all of them, and return the worst exit status."""
    name, *rest = sys.argv[1:] or ["--help"]
    if name != "all" and name not in (*NAMES, *NOT_IN_ALL):
        names = ", ".join((*NAMES, *NOT_IN_ALL))
        print(f"error: bench {name}: there is no such benchmark; name one of {names}, or all", file=sys.stderr)
        return 2
    status = 0
    for chosen in NAMES if name == "all" else [name]:
        sys.argv = [f"bench {chosen}", *rest]
        status = max(status, importlib.import_module(f"bench.{chosen}").main() or 0)
    return status


if __name__ == "__main__":
    sys.exit(main())
