"""Read one word: how often it occurs, which words occur near it, and its neighbours in each space."""

from typing import Any

import pyarrow.compute as pc

from ops.errors import InputError, one_line
from ops.facts.listing import Listing
from ops.meaning.words import fold, split_words
from ops.storage.store import Store
from ops.storage.tables import read_rows

Rows = list[dict[str, Any]]

_CONTEXTS = [("ppmi", "{ppmi:.2f}"), ("count", "{count:,}"), ("context word", "{context}")]
_NEIGHBOURS = [("cosine", "{cosine:.3f}"), ("inner", "{inner:.3g}"), ("word", "{other}")]


def read_word(store: Store, options: dict[str, Any], spaces: list[str], word: str, rows: int) -> dict[str, Any]:
    """Return everything about a word.

    Args:
        store: the run's folder.
        options: the options with which `meaning` counted the words.
        spaces: the spaces in which the words were compared, in order. Empty if they were not compared.
        word: the word. It is folded in the same way as the words of the run.
        rows: the number of contexts, and of neighbours in each space.

    Returns:
        `word`, `count`, `n_contexts`, `contexts` (the highest PPMI first) and `neighbours` by space (the nearest
        first).

    Raises:
        InputError: the word was not counted.
    """
    folded = fold(word, options["word_case"])
    here = pc.field("word") == folded
    found = read_rows(store, "meaning/words", here, ["word", "count"])
    if not found:
        shown = one_line(word, 60)
        if split_words(folded) != [folded]:
            raise InputError(f"--word {shown}: is not one word; give one word without punctuation")
        cased = read_rows(store, "meaning/words", pc.utf8_lower(pc.field("word")) == folded.lower(), ["word", "count"])
        other = f"; did you mean {max(cased, key=lambda c: c['count'])['word']}?" if cased else ""
        least = options["min_count"]
        raise InputError(
            f"--word {shown}: occurs fewer than {least} times in the corpus (--min-count of atlas meaning){other}"
            if least > 1
            else f"--word {shown}: does not occur in the corpus{other}"
        )
    contexts = read_rows(store, "meaning/contexts", here, ["context", "count", "ppmi"])
    n_contexts = len(contexts)
    contexts.sort(key=lambda c: (-c["ppmi"], -c["count"], c["context"]))
    neighbours: dict[str, list[dict[str, Any]]] = {}
    if spaces:
        near = read_rows(store, "meaning/neighbours", here & (pc.field("rank") <= rows))
        for space in spaces:
            own = [{n: row[n] for n in ("rank", "other", "cosine", "inner")} for row in near if row["space"] == space]
            if own:
                neighbours[space] = sorted(own, key=lambda row: row["rank"])
    return {**found[0], "n_contexts": n_contexts, "contexts": contexts[:rows], "neighbours": neighbours}


def word_listings(facts: dict[str, Any], rows: int) -> list[Listing]:
    """Return a word's contexts and its neighbours in each space as lists.

    Args:
        facts: the facts that `read_word` returns.
        rows: rows per list.
    """
    about = f"{facts['word']}: {facts['count']:,} occurrences, {facts['n_contexts']:,} context words near it"
    contexts = facts["contexts"][:rows] or [{"ppmi": None, "count": None, "context": "none"}]
    listings = [Listing.of(about, _CONTEXTS, contexts)]
    for space, near in facts["neighbours"].items():
        listings.append(Listing.of(f"Nearest in {space}", _NEIGHBOURS, near[:rows]))
    return listings
