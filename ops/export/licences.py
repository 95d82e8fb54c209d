"""The terms of the sentences: known terms of named sources, terms that the user gives, and a default for the rest."""

from typing import Any

from ops.errors import InputError
from ops.model.names import without_place
from ops.sources.presets import PRESETS

UNKNOWN = "not known here: ask its publisher before you pass it on"
# docs/corpora.md says where these terms were read.
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


def source_terms(sources: list[dict[str, Any]], given: dict[str, str]) -> list[dict[str, str]]:
    """Return the `dataset`, `source` and `terms` of each source.

    The sources are entries of a run's corpus, each with `source`, as --corpus named it, and `dataset`. The user's terms
    are `given` by the data set's name, and take precedence over the terms known here.

    Raises:
        InputError: terms are given for a data set that the run does not have.
    """
    names = list(dict.fromkeys(s["dataset"] for s in sources))
    for name in given:
        if name not in names:
            raise InputError(f"--source-license {name}: the run has no such data set; it has {', '.join(names)}")
    rows = []
    for source in sources:
        spec = source["source"].partition("=")[2] or source["source"]
        terms = given.get(source["dataset"]) or TERMS.get(spec, UNKNOWN)
        hub = PRESETS[spec].hub if spec in PRESETS else spec[3:].partition(":")[0] if spec.startswith("hf:") else ""
        if hub and source["dataset"] not in given:
            terms += f" (see https://huggingface.co/datasets/{hub})"
        rows.append({"dataset": source["dataset"], "source": without_place(source["source"]), "terms": terms})
    return rows


def parse_terms(given: tuple[str, ...]) -> dict[str, str]:
    """Return the terms of each data set from texts of the form NAME=TERMS, or raise an InputError for another form."""
    by_dataset = {}
    for one in given:
        name, _, terms = one.partition("=")
        if not (name.strip() and terms.strip()):
            raise InputError(f"--source-license {one}: expected NAME=LICENCE, such as reviews=CC-BY-4.0")
        by_dataset[name.strip()] = " ".join(terms.split())
    return by_dataset
