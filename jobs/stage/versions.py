"""What results were made by."""

import importlib.metadata
import platform
import sys
import tomllib
from pathlib import Path

TOOL = "neuron-atlas"
LIBRARIES = ("ray", "torch", "transformers", "tokenizers", "datasets", "pyarrow", "numpy", "spacy", "prefixspan")


def versions() -> dict[str, str]:
    """Return the versions of this program, of Python and of the libraries whose results these are."""
    # Installing it is not needed to run it from its checkout.
    own = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = {TOOL: own["version"], **{name: importlib.metadata.version(name) for name in LIBRARIES}}
    return {"python": platform.python_version(), "platform": sys.platform, "machine": platform.machine(), **found}
