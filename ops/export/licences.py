"""Whose the sentences are: the terms of the sources that have a name here, and what to do about the others."""

import re
from typing import Any

from ops.errors import InputError
from ops.model.names import RANDOM
from ops.sources.presets import PRESETS

UNKNOWN = "not known here: ask its publisher before you pass it on"
# As docs/corpora.md says where they were read.
TERMS = {
    "pydocs": "PSF-2.0 (the standard library), and of each package its own",
    "bookcorpus": "unknown (its card); books by their authors",
    "wikipedia": "CC BY-SA 3.0 and GFDL",
    "sentiment140": "unknown (its card); tweets, for research",
    "imdb": "other (its card); Maas et al. 2011 ask for a citation",
    "newsgroups": "none stated",
    "reuters": "research only (Reuters Ltd., Carnegie Group)",
    "gutenberg": "public domain in the USA",
}

_NAME = re.compile(r"[a-z0-9][a-z0-9.+-]{0,40}")


def check_licence(name: str) -> None:
    """Refuse what cannot be a licence's name on the hub.

    Raises:
        InputError: it is none.
    """
    if not _NAME.fullmatch(name):
        raise InputError(f"--license {name}: is not a licence name of the hub, such as cc-by-4.0")


def source_terms(sources: list[dict[str, Any]], given: dict[str, str]) -> list[dict[str, str]]:
    """Return of each source its `dataset`, `source` and `terms`.

    Args:
        sources: the entries of a run's corpus, each with `source`, as --corpus named it, and `dataset`.
        given: terms by the data set's name, which win over what is known here.

    Raises:
        InputError: terms are given of a data set that the run does not have.
    """
    names = list(dict.fromkeys(s["dataset"] for s in sources))
    for name in given:
        if name not in names:
            raise InputError(f"--source-license {name}: the run has no such data set; it has {', '.join(names)}")
    found = []
    for source in sources:
        spec = source["source"].partition("=")[2] or source["source"]
        terms = given.get(source["dataset"]) or TERMS.get(spec, UNKNOWN)
        hub = PRESETS[spec].hub if spec in PRESETS else spec[3:].partition(":")[0] if spec.startswith("hf:") else ""
        if hub and source["dataset"] not in given:
            terms += f" (see https://huggingface.co/datasets/{hub})"
        found.append({"dataset": source["dataset"], "source": without_place(source["source"]), "terms": terms})
    return found


def parse_terms(given: tuple[str, ...]) -> dict[str, str]:
    """Return terms by data set from NAME=TERMS.

    Raises:
        InputError: one has no = in it, or nothing on a side.
    """
    found = {}
    for one in given:
        name, _, terms = one.partition("=")
        if not (name.strip() and terms.strip()):
            raise InputError(f"--source-license {one}: expected NAME=LICENCE, such as reviews=CC-BY-4.0")
        found[name.strip()] = " ".join(terms.split())
    return found


def without_place(value: Any) -> Any:
    """Return a value of run.json with the paths of the machine cut to their last name, in lists and records too.

    >>> without_place({"corpus": ["/home/me/a.csv", "pydocs", "s3://bucket/a.csv"], "n": 3})
    {'corpus': ['a.csv', 'pydocs', 's3://bucket/a.csv'], 'n': 3}
    >>> without_place("random:/home/me/model")
    'random:model'
    """
    if isinstance(value, dict):
        return {key: without_place(held) for key, held in value.items()}
    if isinstance(value, list):
        return [without_place(held) for held in value]
    if isinstance(value, str):
        name, equals, path = value.rpartition("=")
        random = RANDOM if path.startswith(RANDOM) else ""
        path = path.removeprefix(RANDOM)
        if path.startswith(("/", "~", "file:", "./", "../")):
            return f"{name}{equals}{random}{path.rstrip('/').rpartition('/')[2]}"
    return value
