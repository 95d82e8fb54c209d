"""List the jobs: `python -m jobs`."""

import ast
import sys
from pathlib import Path

from ops.errors import error_line


def main(words: list[str]) -> int:
    """Print each job's name and what it does, and return the exit status."""
    here = Path(__file__).parent
    files = {path.stem: path for path in here.glob("[!_]*.py")} | {p.parent.name: p for p in here.glob("*/job.py")}
    jobs = sorted(files)
    if words and words[0] not in ("-h", "--help"):
        is_job = words[0] in jobs
        what = (
            f"write python -m jobs.{words[0]}, with a dot"
            if is_job
            else f"is not a job; the jobs are {', '.join(jobs)}"
        )
        print(f"error: {error_line(f'python -m jobs {words[0]}: {what}', words)}", file=sys.stderr)
        return 2
    print("python -m jobs.<job> --out URI [--preset small|paper] [--config FILE.yaml] [--field value ...]\n")
    for name in jobs:
        about = ast.get_docstring(ast.parse(files[name].read_text(encoding="utf-8"))) or ""
        print(f"  {name:<14} {about.splitlines()[0]}")
    print("\npython -m jobs.<job> --help lists a job's options")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
