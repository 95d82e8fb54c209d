"""The list of trained dictionaries in the package sae-lens, read from its own file without importing it."""

import importlib.util
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple


class Listed(NamedTuple):
    """A dictionary in the list.

    Attributes:
        release, identifier: its names in sae-lens.
        loader: the name of the function that reads it; empty for SAELens's own format.
        root: a local copy of its repository; None if its files are downloaded from the hub.
    """

    release: str
    identifier: str
    loader: str
    root: Path | None


def find_listed(text: str) -> Listed | None:
    """Return the dictionary that a path names in the list of sae-lens; None if it is not listed or not installed.

    Args:
        text: RELEASE/ID as in sae-lens, ORG/NAME/PATH as on the hub, or the path of a local copy that ends with
            NAME/PATH.
    """
    listed = _read()
    by_hub: dict[str, tuple[str, str, str]] = {}
    for release, entry in listed.items():
        loader = entry.get("conversion_func") or ""
        for one in entry["saes"]:
            if text == f"{release}/{one['id']}":
                return Listed(release, one["id"], loader, None)
            by_hub.setdefault(f"{entry['repo_id']}/{one['path']}", (release, one["id"], loader))
    if text in by_hub:
        return Listed(*by_hub[text], None)
    local = re.sub(r"/snapshots/[^/]+", "", Path(text).expanduser().absolute().as_posix())
    for name, names in by_hub.items():
        within = name.split("/", 2)[2]
        if local.endswith((f"/{name.split('/', 1)[1]}", f"--{name.split('/', 1)[1]}")):
            root = Path(text).expanduser().absolute().parents[within.count("/")]
            return Listed(*names, root) if root.is_dir() else None
    return None


@lru_cache(maxsize=1)
def _read() -> dict[str, Any]:
    """Return the list: for each release its `repo_id` and its `saes`, each with `id` and `path`; empty without it."""
    import yaml

    spec = importlib.util.find_spec("sae_lens")
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    file = next((path for folder in folders if (path := Path(folder) / "pretrained_saes.yaml").is_file()), None)
    if file is None:
        return {}
    # The fast loader reads the large file in a second; it is missing where PyYAML was built without libyaml.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return dict(yaml.load(file.read_text(encoding="utf-8"), Loader=loader))
