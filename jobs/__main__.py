"""The command `atlas`: `atlas NAME` runs a job, and `atlas` alone lists the jobs. It is also `python -m jobs`."""

import ast
import sys
from importlib import import_module
from pathlib import Path

from ops.errors import close_for_good, error_line


def main(argv: list[str] | None = None) -> int:
    """Run the job that the first word names, or print each job's name and what it does; return the exit status."""
    words = sys.argv[1:] if argv is None else argv
    here = Path(__file__).parent
    files = {path.stem: path for path in here.glob("[!_]*.py")} | {p.parent.name: p for p in here.glob("*/job.py")}
    jobs = sorted(files)
    if words and words[0] in files:
        module = import_module(f"jobs.{words[0]}.job" if (here / words[0]).is_dir() else f"jobs.{words[0]}")
        status: int = module.JOB.main(words[1:])
        return status
    if words and words[0] not in ("-h", "--help"):
        what = f"{words[0]}: is not a job; the jobs are {', '.join(jobs)}"
        print(f"error: {error_line(what)}", file=sys.stderr)
        return 2
    lines = ["atlas JOB --out URI [--preset small|paper] [--config FILE.yaml] [--field value ...]\n"]
    for name in jobs:
        about = ast.get_docstring(ast.parse(files[name].read_text(encoding="utf-8"))) or ""
        lines.append(f"  {name:<14} {about.splitlines()[0]}")
    try:
        print("\n".join([*lines, "\natlas JOB --help lists a job's options"]), flush=True)
    except BrokenPipeError:
        close_for_good(sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
