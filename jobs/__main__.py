"""List the jobs: `python -m jobs`."""

import ast
from pathlib import Path


def main() -> None:
    """Print each job's name and what it does."""
    print("python -m jobs.<job> --out URI [--preset small|paper] [--config FILE.yaml] [--field value ...]\n")
    for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
        about = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        print(f"  {path.stem:<14} {about.splitlines()[0]}")
    print("\npython -m jobs.<job> --help lists a job's options")


if __name__ == "__main__":
    main()
