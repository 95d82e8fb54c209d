"""Check the search: are the neurons that it finds first those whose activations tell a phenomenon apart?

    python -m bench search --out runs/six

For each phenomenon, a rule on the words of a sentence, made for this alone, marks the sentences of the activation
sample that have it. Units are ordered by how well their activation tells these sentences from the others: by the area
under the ROC curve (AUC) or 1 minus it, whichever is larger. `hits` says how many of the first ten results of the
search are among the 30 units with the highest AUC, and `of` how many of these units have an AUC of at least 0.7.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow.compute as pc
from scipy.stats import rankdata

from bench.harness import Result
from jobs.run_folder.run import RunReader
from jobs.stage.shown import read_facts
from ops.arrays import Bools, Float64s, Floats
from ops.compare.activation_vectors import layer_activations
from ops.facts.query import parse_query
from ops.facts.run_facts import RunFacts
from ops.facts.search import Searcher

Words = list[str]
FIRST, BEST, LEAST_AREA = 10, 30, 0.7
_BE = "is are was were be been being 's 're am has have had get got"
_PARTICIPLES = "done made seen taken given known called found told said written shown held left set"
_PAST = "was were had did said went came got made took"


def any_of(words: str) -> Callable[[Words], bool]:
    """Return a rule that holds for sentences with one of these words, separated by spaces, in any case."""
    own = frozenset(words.split())
    return lambda sentence: not own.isdisjoint(word.lower() for word in sentence)


def matching(pattern: str) -> Callable[[Words], bool]:
    """Return a rule that holds for sentences with a word that a regular expression matches completely."""
    compiled = re.compile(pattern)
    return lambda sentence: any(compiled.fullmatch(word) for word in sentence)


def _has_participle(sentence: Words) -> bool:
    lower = [word.lower() for word in sentence]
    return any(
        word in _BE.split() and any(re.fullmatch("..+ed", o) or o in _PARTICIPLES.split() for o in lower[i + 1 : i + 3])
        for i, word in enumerate(lower)
    )


# What is searched for, and the rule that marks the sentences that have it.
PHENOMENA: dict[str, Callable[[Words], bool]] = {
    "negation": any_of("not n't n\u2019t never no nobody nothing neither nor without hardly"),
    "question": lambda sentence: "?" in sentence[-2:],
    "past participle": _has_participle,
    "number": matching(r".*\d.*"),
    "first person": any_of("i me my mine myself"),
    "first person plural": any_of("we us our ours ourselves"),
    "second person": any_of("you your yours yourself"),
    "third person singular": any_of("he she it his her its him himself herself itself"),
    "quotation": matching("\"|``|''|\u201c|\u201d"),
    "modal verb": any_of("can could will would shall should may might must"),
    "past tense": any_of(_PAST),
    "present participle": matching("[a-z]{3,}ing"),
    "proper noun": lambda sentence: matching("[A-Z][a-z]{2,}")(sentence[1:]),
    "comparative": any_of("than"),
    "url": matching(r"https?:.*|www\..*|.*\.com"),
    "!": any_of("!"),
    "$": matching(r".*\$.*"),
    "not": any_of("not"),
    "to be": lambda sentence: " to be " in f" {' '.join(sentence)} ".lower(),
    "because": any_of("because"),
}


def areas(activations: Floats, has: Bools) -> Float64s:
    """Return each unit's AUC for telling the sentences that have something from the others, `[units]`.

    Args:
        activations: `[sentences, units]`.
        has: `[sentences]`.
    """
    ranks = rankdata(activations, axis=0)
    positive = int(has.sum())
    above = ranks[has].sum(axis=0) - positive * (positive + 1) / 2
    return np.asarray(above / (positive * (len(has) - positive)))


def measure_run(run: RunFacts, phrases: list[str]) -> list[dict[str, Any]]:
    """Return a row for each phrase of `PHENOMENA` that some but not all sentences of the activation sample have."""
    ids = run.read("activations", None, ["sent_id"])["sent_id"]
    rows = run.read("sentences", pc.field("sent_id").isin(ids.combine_chunks()), ["sent_id", "words"]).to_pylist()
    words = {row["sent_id"]: row["words"] or [] for row in rows}
    sentences = [words[sent_id] for sent_id in ids.to_pylist()]
    searcher, store = Searcher.of(run, 600.0), run.tables.store
    marked = {phrase: np.array([bool(words) and PHENOMENA[phrase](words) for words in sentences]) for phrase in phrases}
    marked = {phrase: has for phrase, has in marked.items() if 0 < has.sum() < len(has)}
    found: dict[str, list[tuple[float, int, int]]] = {phrase: [] for phrase in marked}
    for layer in run.units.layers:
        activations = layer_activations(store, layer)
        for phrase, has in marked.items():
            auc = areas(activations, has)
            found[phrase] += [(max(a, 1 - a), layer, unit) for unit, a in enumerate(auc.tolist())]
    result = []
    for phrase, units in found.items():
        best = sorted((unit for unit in units if unit[1:] not in run.silent), reverse=True)[:BEST]
        hits = searcher.find(parse_query(phrase))[:FIRST]
        among = {unit[1:] for unit in best}
        result.append(
            {
                "phrase": phrase, "share": round(float(marked[phrase].mean()), 3), "best": round(best[0][0], 3),
                "of": sum(area >= LEAST_AREA for area, *_ in best), "found": len(hits),
                "hits": sum((row["layer"], row["unit"]) in among for row in hits),
            }
        )  # fmt: skip
    return result


def measure(out: str) -> Result:
    """Check each phenomenon.

    Args:
        out: a run that jobs.mine has finished.
    """
    return {"phenomena": measure_run(read_facts(RunReader(out, create=False)), list(PHENOMENA))}
