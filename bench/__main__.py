"""Runs benchmarks: `python -m bench NAME` or `python -m bench all`; each prints one line of JSON."""

import subprocess
import sys

from bench.harness import run

NAMES = (
    *("ingest", "end_to_end", "dictionary", "plain_script", "dtype", "scale"),
    *("english", "mine", "mining", "calibration", "explain", "audit"),
    *("tokens", "psi", "mixing", "positions", "meaning"),
)
# `gpu` needs a GPU, `bases`, `browse` and `search` need finished runs, and the others train models to measure.
NOT_IN_ALL = ("gpu", "bases", "browse", "contrast", "respond", "search", "train_dictionary", "train_gpt2")


def main() -> int:
    """Run the named benchmark, or all of them, and return the worst exit status."""
    name, *rest = sys.argv[1:] or ["--help"]
    if name != "all" and name not in (*NAMES, *NOT_IN_ALL):
        names = ", ".join((*NAMES, *NOT_IN_ALL))
        print(f"error: bench {name}: there is no such benchmark; name one of {names}, or all", file=sys.stderr)
        return 2
    if name != "all":
        return run(name, rest)
    # In a process each, so that the highest memory and the number of threads are its own.
    return max(subprocess.run([sys.executable, "-m", "bench", chosen, *rest]).returncode for chosen in NAMES)


if __name__ == "__main__":
    sys.exit(main())
